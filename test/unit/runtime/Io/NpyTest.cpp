#include "runtime/Io/Npy.h"
#include "runtime/Io/Convert.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace zc {
namespace {

/// A .npy file of the given version with the header's text as it stands.
std::string npy(const std::string &header, const std::string &data,
                int version = 1) {
  std::string text = header + "\n";
  std::string file = "\x93NUMPY";
  file += char(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += char(text.size() >> (8 * i));
  return file + text + data;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    auto array = parseNpy(npy(header("<i2", "(3,)"), "abcdef", version), {});
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->kind, 'i');
    EXPECT_EQ(array->itemSize, 2);
    EXPECT_EQ(array->dims, (std::vector<int64_t>{3}));
  }
  EXPECT_FALSE(parseNpy(npy(header("<i2", "()"), "ab", 4), {}).ok());
}

TEST(Npy, ReadsWhatItWrote) {
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{}, {5}, {2, 3}, {0, 4}}) {
    std::string file = makeNpyHeader(plan::F64, dims);
    EXPECT_EQ(file.size() % 64, 0u);
    file += std::string(48, 'x');
    auto array = parseNpy(file, {});
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->dims, dims);
  }
  EXPECT_NE(makeNpyHeader(plan::BOOL, {1}).find("'|b1'"), std::string::npos);
  EXPECT_NE(makeNpyHeader(plan::U16, {1}).find("'<u2'"), std::string::npos);
}

TEST(Npy, TurnsFortranOrderAround) {
  std::string file = npy(header("|u1", "(2, 3)", "True"), "adbecf");
  auto array = parseNpy(file, {});
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->data, "abcdef");
}

TEST(Npy, RefusesWhatItCannotRead) {
  for (const std::string &bad :
       {npy(header(">f4", "(1,)"), "abcd"),
        npy(header("<c8", "(1,)"), "12345678"),
        npy(header("|O", "(1,)"), "12345678"),
        npy(header("<f4", "(2,)"), "abcd"), npy(header("<f4", "(-1,)"), "abcd"),
        npy(header("<f4", "(1,"), "abcd"),
        npy(header("<f4", "(99999999999, 99999999999)"), "abcd"),
        npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "abcd"),
        npy("{'descr': '<f4', 'shape': (1,)}", "abcd"), npy("", ""),
        std::string("\x93NUMPY\x01"), std::string()})
    EXPECT_FALSE(parseNpy(bad, {}).ok()) << bad;
}

TEST(Npy, NoFlippedByteCrashesTheReader) {
  const std::string file = npy(header("<f4", "(2, 1)", "True"), "abcdefgh");
  for (size_t at = 0; at < file.size(); ++at)
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = file;
      damaged[at] ^= char(flip);
      (void)parseNpy(damaged, {}).ok();
    }
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpy(file.substr(0, size), {}).ok());
}

template <typename From, typename To>
int64_t convertOne(const std::string &descr, plan::DataType type, From value,
                   To &out) {
  std::string data(sizeof(value), '\0');
  std::memcpy(data.data(), &value, sizeof(value));
  std::string file = npy(header(descr, "(1,)"), data);
  auto array = parseNpy(file, {});
  Converter convert = findConverter(*array, type);
  if (!convert)
    return -1;
  return convert(array->data.data(), reinterpret_cast<char *>(&out), 1);
}

TEST(Convert, IntegersFitOrAreRefused) {
  int64_t wide;
  int32_t narrow;
  uint8_t byte;
  EXPECT_EQ(convertOne("<u2", plan::I64, uint16_t(50256), wide), 1);
  EXPECT_EQ(wide, 50256);
  EXPECT_EQ(convertOne("|i1", plan::I64, int8_t(-5), wide), 1);
  EXPECT_EQ(wide, -5);
  EXPECT_EQ(convertOne("<i8", plan::I32, int64_t(1) << 31, narrow), 0);
  EXPECT_EQ(convertOne("<i8", plan::U8, int64_t(-1), byte), 0);
  EXPECT_EQ(convertOne("<u8", plan::I64, UINT64_MAX, wide), 0);
  EXPECT_EQ(convertOne("<f4", plan::I64, 1.0f, wide), -1);
  EXPECT_EQ(convertOne("|b1", plan::I64, uint8_t(1), wide), -1);
}

TEST(Convert, FloatsBecomeFloats) {
  float out;
  double wide;
  EXPECT_EQ(convertOne("<f8", plan::F32, 0.1, out), -1);
  EXPECT_EQ(convertOne("<f4", plan::F64, 0.1f, wide), 1);
  EXPECT_EQ(wide, double(0.1f));
  EXPECT_EQ(convertOne("<f2", plan::F32, uint16_t(0x3555), out), 1);
  EXPECT_FLOAT_EQ(out, 0.33325195f);
  EXPECT_EQ(convertOne("<i4", plan::F32, 1, out), -1);
}

TEST(Convert, HalvesAndBfloat16AreExact) {
  EXPECT_EQ(halfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(halfToFloat(0xfbff), -65504.0f);
  EXPECT_TRUE(std::isinf(halfToFloat(0x7c00)));
  EXPECT_TRUE(std::isnan(halfToFloat(0x7c01)));
  EXPECT_EQ(floatToBfloat16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat16(1.00390625f), 0x3f80); // a tie goes to even
  EXPECT_EQ(floatToBfloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7fc0,
            0x7fc0);
}

} // namespace
} // namespace zc
