#include "runtime/Plan/FloatBytes.h"

#include "gtest/gtest.h"
#include <cstring>
#include <vector>

using namespace zc;

namespace {

std::string bytesOf(const std::vector<float> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(float));
}

std::vector<float> floatsOf(const std::string &bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Tests that what 16 bits hold comes back, and that the rest is rounded to
// nearest, ties to even.
TEST(FloatBytes, RoundsAndWidens) {
  const std::vector<float> held = {0.0f, 1.0f, -2.5f, 0.15625f};
  for (plan::DataType type : {plan::F16, plan::BF16}) {
    std::string narrow = convertFloats(bytesOf(held), plan::F32, type);
    EXPECT_EQ(narrow.size(), held.size() * 2);
    EXPECT_EQ(floatsOf(convertFloats(narrow, type, plan::F32)), held);
  }
  // 1 + 2^-8 lies between 1 and the next bfloat16, 1 + 3 2^-8 above one.
  std::string narrow = convertFloats(bytesOf({1 + 1.0f / 256, 1 + 3.0f / 256}),
                                     plan::F32, plan::BF16);
  EXPECT_EQ(floatsOf(convertFloats(narrow, plan::BF16, plan::F32)),
            (std::vector<float>{1.0f, 1 + 4.0f / 256}));
}

TEST(FloatBytes, KnowsWhatItConverts) {
  EXPECT_TRUE(canConvertFloats(plan::F32, plan::BF16));
  EXPECT_FALSE(canConvertFloats(plan::F64, plan::F32));
  EXPECT_FALSE(canConvertFloats(plan::F32, plan::I32));
}

} // namespace
