#include "runtime/Plan/InstructionKind.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

TEST(InstructionKind, LibraryCallsAreCalledAsTheirRooms) {
  plan::Instruction instruction;
  for (auto [op, kind] : {std::pair("matmul_add", "matmul"),
                          {"conv_filter_grad", "convolution"},
                          {"max_pool", "pooling"},
                          {"batch_norm_grad", "norm"},
                          {"attention", "attention"},
                          {"sparse_decode", "sparse"},
                          {"grouped_matmul_grad", "grouped_matmul"}}) {
    instruction.mutable_library()->set_op(op);
    EXPECT_STREQ(kindOf(instruction), kind);
  }
}

TEST(InstructionKind, OthersAreCalledAsInTheSchema) {
  plan::Instruction instruction;
  instruction.mutable_kernel();
  EXPECT_STREQ(kindOf(instruction), "kernel");
  instruction.mutable_copy();
  EXPECT_STREQ(kindOf(instruction), "copy");
  instruction.mutable_collective();
  EXPECT_STREQ(kindOf(instruction), "collective");
}

TEST(InstructionKind, NoneHasNoName) {
  EXPECT_STREQ(kindOf(plan::Instruction()), "");
  plan::Instruction unknown;
  unknown.mutable_library()->set_op("unheard_of");
  EXPECT_STREQ(kindOf(unknown), "");
}

} // namespace
} // namespace zc
