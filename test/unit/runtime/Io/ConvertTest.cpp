#include "runtime/Io/Convert.h"
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace zc {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Converts one value of an array of that kind; what the converter returns, or
/// -1 when there is none.
template <typename From, typename To>
int64_t convertOne(char kind, From value, plan::DataType type, To &out) {
  NpyArray array;
  array.kind = kind;
  array.itemSize = sizeof(From);
  Converter convert = findConverter(array, type);
  if (!convert)
    return -1;
  return convert(reinterpret_cast<const char *>(&value),
                 reinterpret_cast<char *>(&out), 1);
}

TEST(Convert, IntegersFitOrAreRefused) {
  int64_t wide;
  int32_t narrow;
  uint8_t byte;
  EXPECT_EQ(convertOne('u', uint16_t(50256), plan::I64, wide), 1);
  EXPECT_EQ(wide, 50256);
  EXPECT_EQ(convertOne('i', int8_t(-5), plan::I64, wide), 1);
  EXPECT_EQ(wide, -5);
  EXPECT_EQ(convertOne('i', int64_t(1) << 31, plan::I32, narrow), 0);
  EXPECT_EQ(convertOne('i', int64_t(-1), plan::U8, byte), 0);
  EXPECT_EQ(convertOne('u', UINT64_MAX, plan::I64, wide), 0);
  EXPECT_EQ(convertOne('f', 1.0f, plan::I64, wide), -1);
  EXPECT_EQ(convertOne('b', true, plan::I64, wide), -1);
}

TEST(Convert, TellsWhichElementDoesNotFit) {
  NpyArray array;
  array.kind = 'i';
  array.itemSize = 4;
  const int32_t values[] = {1, 255, 256, 2};
  uint8_t out[4] = {};
  EXPECT_EQ(
      findConverter(array, plan::U8)(reinterpret_cast<const char *>(values),
                                     reinterpret_cast<char *>(out), 4),
      2);
  EXPECT_EQ(out[1], 255);
}

TEST(Convert, FloatsBecomeFloats) {
  float out;
  double wide;
  EXPECT_EQ(convertOne('f', 0.1, plan::F32, out), -1);
  EXPECT_EQ(convertOne('f', 0.1f, plan::F64, wide), 1);
  EXPECT_EQ(wide, double(0.1f));
  EXPECT_EQ(convertOne('f', uint16_t(0x3555), plan::F32, out), 1);
  EXPECT_FLOAT_EQ(out, 0.33325195f);
  EXPECT_EQ(convertOne('i', 1, plan::F32, out), -1);
}

TEST(Convert, SmallFloatsAndBools) {
  uint16_t bits;
  EXPECT_EQ(convertOne('f', -2.0f, plan::BF16, bits), 1);
  EXPECT_EQ(bits, 0xc000);
  EXPECT_EQ(convertOne('f', uint16_t(0x3555), plan::F16, bits), 1);
  EXPECT_EQ(bits, 0x3555);
  EXPECT_EQ(convertOne('f', 1.0f, plan::F16, bits), -1);
  char flag = 7;
  EXPECT_EQ(convertOne('b', char(2), plan::BOOL, flag), 1);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(convertOne('u', uint8_t(1), plan::BOOL, flag), -1);
}

TEST(Convert, HalvesAndBfloat16AreExact) {
  EXPECT_EQ(halfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(halfToFloat(0xfbff), -65504.0f);
  EXPECT_TRUE(std::isinf(halfToFloat(0x7c00)));
  EXPECT_TRUE(std::isnan(halfToFloat(0x7c01)));
  EXPECT_EQ(floatToBfloat16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat16(1.00390625f), 0x3f80); // a tie goes to even
  EXPECT_EQ(floatToBfloat16(1.01171875f), 0x3f82); // also upwards
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(kNan))));
  for (float value : {0.0f, -1.5f, 3e38f, kInfinity})
    EXPECT_EQ(floatToBfloat16(bfloat16ToFloat(floatToBfloat16(value))),
              floatToBfloat16(value));
}

TEST(Convert, FloatsAreRoundedToTheNearestHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value)))) << bits;
    else
      EXPECT_EQ(floatToHalf(value), bits);
  }
  // Between neighbours, the even one has ties; below, above and at all sizes.
  for (uint16_t bits : {0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bfe}) {
    float tie = (halfToFloat(bits) + halfToFloat(uint16_t(bits + 1))) / 2;
    uint16_t even = bits & 1 ? uint16_t(bits + 1) : bits;
    EXPECT_EQ(floatToHalf(tie), even) << bits;
    EXPECT_EQ(floatToHalf(std::nextafter(tie, 0.0f)), bits);
    EXPECT_EQ(floatToHalf(std::nextafter(tie, 1e9f)), bits + 1);
    EXPECT_EQ(floatToHalf(-tie), even | 0x8000);
  }
  EXPECT_EQ(floatToHalf(65519.9f), 0x7bff);
  for (float large : {65520.0f, 3e38f, kInfinity})
    EXPECT_EQ(floatToHalf(large), 0x7c00);
}

template <typename T> std::string bytesOf(std::vector<T> values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

TEST(Convert, FindsWhatIsNotFinite) {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(allFinite(plan::F32, bytesOf<float>({0, -0.0f, least, most})));
  EXPECT_TRUE(allFinite(plan::F32, ""));
  for (float bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_FALSE(allFinite(plan::F32, bytesOf<float>({1, bad, 1})));
    EXPECT_FALSE(allFinite(plan::F64, bytesOf<double>({1, bad})));
    EXPECT_FALSE(
        allFinite(plan::BF16, bytesOf<uint16_t>({floatToBfloat16(bad)})));
  }
  EXPECT_TRUE(allFinite(plan::F64, bytesOf<double>({1e308, -1e-308})));
  EXPECT_TRUE(allFinite(plan::F16, bytesOf<uint16_t>({0x7bff, 0xfbff, 0})));
  EXPECT_FALSE(allFinite(plan::F16, bytesOf<uint16_t>({0, 0xfc00})));
  EXPECT_TRUE(allFinite(plan::BF16, bytesOf<uint16_t>({0x7f7f})));
  EXPECT_TRUE(allFinite(plan::I64, bytesOf<int64_t>({-1})));
}

TEST(Convert, ReadsIntegersOfEveryType) {
  EXPECT_EQ(integerAt(bytesOf<int8_t>({0, -7}).data(), plan::I8, 1), -7);
  EXPECT_EQ(integerAt(bytesOf<uint16_t>({0, 65535}).data(), plan::U16, 1),
            65535);
  EXPECT_EQ(integerAt(bytesOf<uint32_t>({UINT32_MAX}).data(), plan::U32, 0),
            int64_t(UINT32_MAX));
  // Beyond int64: still larger than any bound.
  EXPECT_EQ(integerAt(bytesOf<uint64_t>({UINT64_MAX}).data(), plan::U64, 0),
            INT64_MAX);
}

} // namespace
} // namespace zc
