// RUN: zc-opt %s --zc-mark-tokens="parts=2 dims=x=1,times=none" | FileCheck %s
// RUN: zc-opt %s --zc-mark-tokens="parts=1 dims=x=1" | FileCheck %s --check-prefix=ONE

// Tests that what the user says of inputs' tokens stays with them until the
// model is divided; one rank has nothing to divide.
// CHECK: train.input = "x", train.token_dim = 1 : i64}
// CHECK-SAME: train.input = "times", train.no_tokens}
// ONE-NOT: train.token_dim
// ONE-NOT: train.no_tokens
func.func @step(
    %x: tensor<2x8x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %times: tensor<2x8x6xf32> {train.input = "times", train.batch_dim = 0 : i64})
    -> tensor<2x8x6xf32> {
  %0 = train.add %x, %times : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  return %0 : tensor<2x8x6xf32>
}
