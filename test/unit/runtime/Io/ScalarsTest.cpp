#include "runtime/Io/Scalars.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace zc::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

plan::State scalar(plan::DataType type) {
  plan::State state;
  state.set_name("s");
  state.mutable_type()->set_dtype(type);
  return state;
}

template <typename T> std::string bytesOf(T value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

/// Through text, as in a file.
template <typename T> void expectBack(plan::DataType type, T value) {
  plan::State state = scalar(type);
  Json json = Json::parse(scalarToJson(state, bytesOf(value)).dump());
  auto bytes = scalarFromJson(state, json);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(*bytes, bytesOf(value)) << json.dump();
}

TEST(Scalars, ComeBackBitForBit) {
  expectBack(plan::F32, 0.1f);
  expectBack(plan::F32, -0.0f);
  expectBack(plan::F32, std::numeric_limits<float>::denorm_min());
  expectBack(plan::F32, std::numeric_limits<float>::quiet_NaN());
  expectBack(plan::F64, 0.1);
  expectBack(plan::I64, INT64_MIN);
  expectBack(plan::U64, UINT64_MAX);
  expectBack(plan::BF16, uint16_t(0x3f80));
}

TEST(Scalars, ShowTheirValue) {
  EXPECT_EQ(scalarToJson(scalar(plan::F32), bytesOf(0.5f)).dump(),
            R"({"type":"F32","value":0.5,"bits":"0000003f"})");
  EXPECT_EQ(scalarToJson(scalar(plan::I64), bytesOf(int64_t(-2)))["value"], -2);
  EXPECT_TRUE(scalarToJson(scalar(plan::BF16), bytesOf(uint16_t(0)))["value"]
                  .is_null());
}

TEST(Scalars, OthersAreRefused) {
  const plan::State state = scalar(plan::F32);
  const Json good = scalarToJson(state, bytesOf(0.5f));
  ASSERT_TRUE(scalarFromJson(state, good).ok());
  auto refused = [&](const Json &json) {
    auto bytes = scalarFromJson(state, json);
    return !bytes.ok() && bytes.status().code() == StatusCode::Corrupt &&
           bytes.status().message().find("'s'") != std::string::npos;
  };
  for (const char *bits :
       {"", "0000003", "0000003f00", "0000003g", "0000003F"}) {
    Json bad = good;
    bad["bits"] = bits;
    EXPECT_TRUE(refused(bad)) << bits;
  }
  Json other = good;
  other["type"] = "I32";
  EXPECT_TRUE(refused(other));
  for (const char *key : {"type", "bits"}) {
    Json without = good;
    without.erase(key);
    EXPECT_TRUE(refused(without)) << key;
  }
  EXPECT_TRUE(refused(0.5));
  EXPECT_TRUE(refused(nullptr));
}

} // namespace
} // namespace zc::checkpoint
