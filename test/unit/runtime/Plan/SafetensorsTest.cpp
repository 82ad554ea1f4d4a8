#include "runtime/Plan/Safetensors.h"
#include "runtime/Base/Hash.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

std::string withHeader(const std::string &json, size_t dataBytes = 8) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(json.size() >> (8 * i));
  return length + json + std::string(dataBytes, 'd');
}

TEST(Safetensors, ReadsWhatItWrote) {
  std::string file = makeSafetensorsHeader(
      {{"a", "F32", {2, 1}, {}}, {"b/c", "I64", {}, {}}}, {{"format", "pt"}});
  EXPECT_EQ(file.size() % 64, 0u);
  file += std::string(8, 'a') + std::string(8, 'b');
  auto tensors = parseSafetensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ((*tensors)[0].name, "a");
  EXPECT_EQ((*tensors)[0].dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ((*tensors)[1].data, std::string(8, 'b'));
}

TEST(Safetensors, ChecksumsTellOfAFlippedBit) {
  const std::string data(8, 'a');
  SafetensorsTensor entry{"a", "F32", {2}, {}, hashBytes(data)};
  std::string file = makeSafetensorsHeader({entry}) + data;
  auto sound = parseSafetensors(file);
  ASSERT_TRUE(sound.ok()) << sound.status().message();
  EXPECT_TRUE(checkSum(sound->front()).ok());
  file.back() ^= 1;
  Status status = checkSum(parseSafetensors(file)->front());
  EXPECT_NE(status.message().find("'a' is damaged"), std::string::npos);
  // A file without checksums is as good as it was.
  entry.xxh64.reset();
  file = makeSafetensorsHeader({entry}) + data;
  EXPECT_TRUE(checkSum(parseSafetensors(file)->front()).ok());
  EXPECT_FALSE(
      parseSafetensors(withHeader(R"({"__metadata__": {"xxh64.a": "12"},
          "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})"))
          .ok());
}

TEST(Safetensors, NamesMayBeAnyBytes) {
  std::string file = makeSafetensorsHeader({{"\xff\"\n", "U8", {1}, {}}}) + "x";
  EXPECT_TRUE(parseSafetensors(file).ok());
}

TEST(Safetensors, RefusesWhatDoesNotFit) {
  const char *bad[] = {
      "",
      "[]",
      "{\"a\": 1}",
      "{\"a\": {\"dtype\": \"F32\", \"shape\": [2]}}",
      R"({"a": {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}})",
      R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})",
      R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})",
      R"({"a": {"dtype": "F32", "shape": [2.5], "data_offsets": [0, 8]}})",
      R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})",
      R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})",
      R"({"a": {"dtype": "F32", "shape": [9223372036854775807, 4],
          "data_offsets": [0, 8]}})"};
  for (const char *json : bad)
    EXPECT_FALSE(parseSafetensors(withHeader(json)).ok()) << json;
  EXPECT_FALSE(parseSafetensors("1234").ok());
  EXPECT_FALSE(parseSafetensors(std::string(16, '\xff')).ok());
}

TEST(Safetensors, DeepNestingDoesNotOverflowTheStack) {
  std::string deep(200000, '[');
  EXPECT_FALSE(parseSafetensors(withHeader(deep)).ok());
}

} // namespace
} // namespace zc
