#include "runtime/Plan/FileTensor.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <gtest/gtest.h>
#include <numeric>

namespace zc {
namespace {

using namespace test;

Mesh meshOf(std::initializer_list<std::pair<const char *, const char *>> axes) {
  plan::Manifest manifest;
  for (auto [name, size] : axes) {
    manifest.add_mesh()->set_name(name);
    manifest.mutable_mesh(manifest.mesh_size() - 1)->set_value(size);
  }
  return *Mesh::of(manifest);
}

plan::Sharding sharding(std::vector<std::vector<const char *>> dims) {
  plan::Sharding result;
  for (const auto &axes : dims) {
    plan::DimSharding *dim = result.add_dims();
    for (const char *axis : axes)
      dim->add_axes(axis);
  }
  return result;
}

TEST(MeshRanks, AreNumberedRowMajor) {
  Mesh mesh = meshOf({{"dp", "3"}, {"tp", "2"}});
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.coordinate(5, "dp"), 2);
  EXPECT_EQ(mesh.coordinate(5, "tp"), 1);
  EXPECT_EQ(mesh.coordinate(5, "pp"), 0);
  AxisNames dp, both;
  *dp.Add() = "dp";
  *both.Add() = "tp";
  *both.Add() = "dp";
  EXPECT_EQ(mesh.group(3, dp), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(mesh.placeInGroup(3, dp), 1);
  EXPECT_EQ(mesh.group(3, both), (std::vector<int>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(mesh.placeInGroup(3, both), 4);
}

/// Puts together what all ranks hold of tensors whose element i is i; every
/// element must be owned once.
void expectCovered(const Mesh &mesh, const plan::State &state) {
  for (const FileTensor &tensor : fileTensorsOf(state)) {
    std::vector<int> owners(*elementCount(tensor.type), 0);
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      uint64_t last = 0;
      for (const TensorRun &run : tensor.runs(mesh, rank)) {
        ASSERT_GT(run.count, 0u);
        ASSERT_GE(run.state, last);
        last = run.state + run.count;
        ASSERT_LE(last, *elementCount(state.type()));
        ASSERT_LE(run.whole + run.count, owners.size());
        for (uint64_t i = 0; i < run.count; ++i)
          owners[run.whole + i] += tensor.isOwner(mesh, rank);
      }
    }
    for (int count : owners)
      EXPECT_EQ(count, 1);
  }
}

TEST(FileTensors, ARankHoldsItsPartOfEachDim) {
  Mesh mesh = meshOf({{"dp", "2"}, {"tp", "3"}});
  plan::State state;
  setType(state.mutable_type(), plan::F32, {3, 4, 2});
  for (int64_t dim : {5, 4, 5})
    state.add_whole_dims(dim);
  *state.mutable_sharding() = sharding({{"dp"}, {}, {"tp"}});
  expectCovered(mesh, state);
  FileTensor tensor = fileTensorsOf(state).front();
  EXPECT_EQ(printDims(tensor.type.dims()), "[5, 4, 5]");
  // Rank 5 has rows 3 and 4, and the last column alone.
  std::vector<TensorRun> runs = tensor.runs(mesh, 5);
  ASSERT_EQ(runs.size(), 8u);
  EXPECT_EQ(runs[0].whole, 3u * 20 + 4);
  EXPECT_EQ(runs[1].whole, 3u * 20 + 9);
  EXPECT_EQ(runs[1].state, 2u);
  EXPECT_EQ(runs[1].count, 1u);
}

TEST(FileTensors, OneDimMayBeDividedBySeveralAxes) {
  Mesh mesh = meshOf({{"dp", "2"}, {"tp", "2"}});
  plan::State state;
  setType(state.mutable_type(), plan::F32, {2, 3});
  state.add_whole_dims(7);
  state.add_whole_dims(3);
  *state.mutable_sharding() = sharding({{"tp", "dp"}});
  expectCovered(mesh, state);
  // Rank 1 is dp 0, tp 1: the third quarter.
  std::vector<TensorRun> runs = fileTensorsOf(state).front().runs(mesh, 1);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].whole, 12u);
  EXPECT_EQ(runs[0].count, 6u);
}

TEST(FileTensors, EachBlockOfADimIsDividedByItself) {
  Mesh mesh = meshOf({{"dp", "2"}, {"tp", "2"}});
  plan::State state;
  setType(state.mutable_type(), plan::F32, {4, 3});
  state.add_whole_dims(8);
  state.add_whole_dims(3);
  *state.mutable_sharding() = sharding({{"tp"}});
  for (int64_t size : {4, 2, 2})
    state.mutable_sharding()->mutable_dims(0)->add_blocks(size);
  expectCovered(mesh, state);
  // tp 1 has rows 2 and 3 of the first block, 5 of the second, 7 of the third.
  std::vector<TensorRun> runs = fileTensorsOf(state).front().runs(mesh, 3);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].whole, 6u);
  EXPECT_EQ(runs[0].count, 6u);
  EXPECT_EQ(runs[1].whole, 15u);
  EXPECT_EQ(runs[1].state, 6u);
  EXPECT_EQ(runs[1].count, 3u);
  EXPECT_EQ(runs[2].whole, 21u);
  EXPECT_EQ(runs[2].state, 9u);
}

TEST(FileTensors, BlocksLieWithinOuterDims) {
  Mesh mesh = meshOf({{"dp", "3"}, {"tp", "2"}});
  plan::State state;
  for (int64_t dim : {4, 10, 3})
    state.add_whole_dims(dim);
  *state.mutable_sharding() = sharding({{}, {"tp"}, {"dp"}});
  setType(state.mutable_type(), plan::F32, {4, 5, 1});
  for (int64_t size : {6, 4})
    state.mutable_sharding()->mutable_dims(1)->add_blocks(size);
  expectCovered(mesh, state);
}

TEST(FileTensors, PartsBeyondTheEndAreEmpty) {
  Mesh mesh = meshOf({{"dp", "4"}});
  plan::State state;
  setType(state.mutable_type(), plan::F32, {2});
  state.add_whole_dims(5);
  *state.mutable_sharding() = sharding({{"dp"}});
  expectCovered(mesh, state);
  EXPECT_TRUE(fileTensorsOf(state).front().runs(mesh, 3).empty());
}

TEST(FileTensors, MembersOfAUnitLieAcrossItsWindows) {
  Mesh mesh = meshOf({{"dp", "3"}, {"tp", "2"}});
  plan::State unit;
  setType(unit.mutable_type(), plan::F32, {6});
  unit.add_whole_dims(18);
  *unit.mutable_sharding() = sharding({{"dp"}});
  auto addMember = [&](const char *name, std::vector<int64_t> dims,
                       plan::Sharding divided, uint64_t offset) {
    plan::UnitMember *member = unit.add_members();
    member->set_name(name);
    setType(member->mutable_type(), plan::F32, dims);
    *member->mutable_sharding() = divided;
    member->set_offset(offset);
  };
  addMember("a", {3, 4}, sharding({{}, {"tp"}}), 0); // 6 elements of each rank
  addMember("b", {3}, {}, 7);
  addMember("c", {5}, sharding({{"tp"}}), 11); // 3 of each, one is padding
  expectCovered(mesh, unit);
  std::vector<FileTensor> tensors = fileTensorsOf(unit);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[2].name(), "c");
  // On dp 1: elements 6 to 11 of the vector; c begins with the last of them.
  std::vector<TensorRun> runs = tensors[2].runs(mesh, 3); // tp 1
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].whole, 3u);
  EXPECT_EQ(runs[0].state, 5u);
  EXPECT_EQ(runs[0].count, 1u);
}

} // namespace
} // namespace zc
