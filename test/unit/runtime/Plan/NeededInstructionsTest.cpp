#include "runtime/Plan/NeededInstructions.h"
#include "runtime/Plan/LibraryCalls.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

/// Kernels over buffers of four floats.
class Needed : public ::testing::Test {
protected:
  uint32_t buffer(uint64_t place, plan::Space space = plan::TRANSIENT) {
    return addBuffer(program, space, place * 16, plan::F32, {4});
  }
  void kernel(std::vector<uint32_t> reads, std::vector<uint32_t> writes) {
    plan::KernelCall *call = program.add_instructions()->mutable_kernel();
    call->set_num_inputs(uint32_t(reads.size()));
    for (const auto *all : {&reads, &writes})
      for (uint32_t each : *all)
        call->add_buffers(each);
  }
  void output(const std::string &name, uint32_t of) {
    addMetric(program, name, of);
    program.mutable_outputs()->rbegin()->set_kind(plan::OUTPUT);
  }
  std::vector<bool> needed(const std::set<std::string> &outputs = {}) {
    return neededInstructions(program, outputs);
  }
  plan::Program program;
};

TEST_F(Needed, IsWhatMetricsRead) {
  const uint32_t x = buffer(0), y = buffer(1), side = buffer(2),
                 loss = buffer(3);
  kernel({x}, {y});
  kernel({y}, {side});
  kernel({y}, {loss});
  addMetric(program, "loss_sum", loss);
  output("side", side);
  EXPECT_EQ(needed(), std::vector<bool>({true, false, true}));
  EXPECT_EQ(needed({"side"}), std::vector<bool>({true, true, true}));
  EXPECT_EQ(needed({"other"}), std::vector<bool>({true, false, true}));
}

/// Bytes that a value takes after another is done with.
TEST_F(Needed, PlacesAreUsedAgain) {
  const uint32_t x = buffer(0), first = buffer(1), loss = buffer(2),
                 again = buffer(1);
  kernel({x}, {first});
  kernel({first}, {loss});
  kernel({x}, {again});
  output("side", again);
  addMetric(program, "loss_sum", loss);
  EXPECT_EQ(needed(), std::vector<bool>({true, true, false}));
  EXPECT_EQ(needed({"side"}), std::vector<bool>({true, true, true}));
}

TEST_F(Needed, PartsOfAWholeAreWritten) {
  const uint32_t whole = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {8});
  const uint32_t low = buffer(0), high = buffer(1), loss = buffer(4);
  kernel({}, {whole}); // overwritten by the next two
  kernel({}, {low});
  kernel({}, {high});
  kernel({whole}, {loss});
  addMetric(program, "loss_sum", loss);
  EXPECT_EQ(needed(), std::vector<bool>({false, true, true, true}));
}

TEST_F(Needed, SumsGoOnFromWhatWasThere) {
  auto matrix = [&](uint64_t place) {
    return addBuffer(program, plan::TRANSIENT, place * 16, plan::F32, {2, 2});
  };
  const uint32_t a = matrix(0), c = matrix(1);
  kernel({}, {c});
  plan::LibraryCall *call = addCall(program, "matmul", {a, a}, {c});
  addMetric(program, "loss_sum", c);
  EXPECT_EQ(needed(), std::vector<bool>({false, true}));
  call->set_op("matmul_add");
  call->set_inputs(0, c); // the accumulator, then both factors
  call->set_inputs(1, a);
  call->add_inputs(a);
  EXPECT_TRUE(verifyLibraryCall(program, *call).ok());
  EXPECT_EQ(needed(), std::vector<bool>({true, true}));
}

TEST_F(Needed, WhatOutlivesTheProgramStays) {
  const uint32_t x = buffer(0), state = buffer(0, plan::PERSISTENT),
                 message = buffer(0, plan::FLIGHT), side = buffer(1);
  kernel({x}, {state});
  kernel({x}, {message});
  kernel({x}, {side});
  output("side", side);
  EXPECT_EQ(needed(), std::vector<bool>({true, true, false}));
}

/// Ranks of other roles wait for it.
TEST_F(Needed, CollectivesAmongRolesStay) {
  const uint32_t x = buffer(0), sum = buffer(1);
  for (const char *axis : {"pp", "dp"}) {
    plan::CollectiveCall *call =
        program.add_instructions()->mutable_collective();
    call->add_axes(axis);
    call->set_source(x);
    call->set_destination(sum);
  }
  EXPECT_EQ(needed(), std::vector<bool>({true, false}));
}

} // namespace
} // namespace zc
