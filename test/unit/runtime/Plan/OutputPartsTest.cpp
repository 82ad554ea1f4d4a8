#include "runtime/Plan/OutputParts.h"

#include <gtest/gtest.h>

#include <numeric>

namespace zc {
namespace {

plan::Manifest makeMesh() {
  plan::Manifest manifest;
  for (auto [name, size] : {std::pair("dp", "2"), std::pair("sp", "3")}) {
    plan::Setting &axis = *manifest.add_mesh();
    axis.set_name(name);
    axis.set_value(size);
  }
  return manifest;
}

/// Int32 [2, 4 samples, 2, 12 tokens, 2] over dp x sp, each rank's part made of
/// the whole's element numbers.
struct Divided {
  explicit Divided(bool zigzag) : mesh(*Mesh::of(makeMesh())) {
    type.set_dtype(plan::I32);
    for (int64_t dim : {2, 2, 2, 4, 2})
      type.add_dims(dim);
    output.set_batch_dim(1);
    output.add_batch_axes("dp");
    for (int i = 0; i < 5; ++i)
      output.mutable_sharding()->add_dims();
    output.mutable_sharding()->mutable_dims(3)->add_axes("sp");
    output.set_zigzag(zigzag);
  }

  std::vector<int32_t> partOf(int dp, const std::vector<int64_t> &tokens) {
    std::vector<int32_t> part;
    for (int o = 0; o < 2; ++o)
      for (int s = 2 * dp; s < 2 * dp + 2; ++s)
        for (int m = 0; m < 2; ++m)
          for (int64_t token : tokens)
            for (int i = 0; i < 2; ++i)
              part.push_back(
                  int32_t((((o * 4 + s) * 2 + m) * 12 + token) * 2 + i));
    return part;
  }

  std::vector<int32_t> join() {
    OutputParts parts(output, type, mesh, 0);
    std::vector<int32_t> whole(2 * 4 * 2 * 12 * 2, -1);
    for (size_t i = 0; i < parts.ranks().size(); ++i) {
      std::vector<int32_t> part =
          partOf(int(i) / 3, parts.tokensOf(parts.placeOf(mesh, int64_t(i))));
      parts.place(i, reinterpret_cast<const char *>(part.data()),
                  reinterpret_cast<char *>(whole.data()));
    }
    return whole;
  }

  Mesh mesh;
  plan::TensorType type;
  plan::Output output;
};

TEST(OutputParts, SamplesAndTokensComeTogether) {
  std::vector<int32_t> expected(2 * 4 * 2 * 12 * 2);
  std::iota(expected.begin(), expected.end(), 0);
  for (bool zigzag : {false, true})
    EXPECT_EQ(Divided(zigzag).join(), expected);
}

TEST(OutputParts, ZigzagHasAnEarlyAndALateChunk) {
  Divided divided(true);
  OutputParts parts(divided.output, divided.type, divided.mesh, 0);
  EXPECT_EQ(parts.wholeDims(), (std::vector<int64_t>{2, 4, 2, 12, 2}));
  EXPECT_EQ(parts.tokenDim(), 3);
  EXPECT_EQ(parts.tokensOf(0), (std::vector<int64_t>{0, 1, 10, 11}));
  EXPECT_EQ(parts.tokensOf(1), (std::vector<int64_t>{2, 3, 8, 9}));
  EXPECT_EQ(parts.tokensOf(5), (std::vector<int64_t>{4, 5, 6, 7}));
}

TEST(OutputParts, WhatOneRankHasIsWhole) {
  Divided divided(false);
  divided.output.clear_sharding();
  divided.output.clear_batch_axes();
  OutputParts parts(divided.output, divided.type, divided.mesh, 0);
  EXPECT_EQ(parts.ranks(), std::vector<int>{0});
  EXPECT_EQ(parts.wholeDims(), (std::vector<int64_t>{2, 2, 2, 4, 2}));
}

} // namespace
} // namespace zc
