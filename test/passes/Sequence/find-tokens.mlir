// RUN: zc-opt %s --zc-find-tokens="parts=2 head-parts=2 attention=ulysses" | FileCheck %s
// RUN: zc-opt %s --zc-find-tokens="parts=2 attention=gather" | FileCheck %s --check-prefix=GATHER
// RUN: zc-opt %s --zc-find-tokens="parts=8" | FileCheck %s --check-prefix=RING
// RUN: zc-opt %s --zc-mark-tokens="parts=2 dims=times=none" --zc-find-tokens="parts=2" | FileCheck %s --check-prefix=NONE

// Tests that the dim of an input that becomes an attention's queries counts
// tokens, that heads are divided instead, and that what the user says counts.
// CHECK: train.input = "x", train.token_dim = 1 : i64}
// CHECK-SAME: train.input = "mask"}
// CHECK-SAME: train.input = "times", train.token_dim = 1 : i64}
// CHECK: train.output = "y", train.token_dim = 1 : i64}
// CHECK: train.attention {{.*}}dist.exchange = array<i64: 1, 2>
// GATHER: train.input = "x", train.token_dim = 1 : i64}
// GATHER-NOT: dist.exchange
// GATHER: train.attention {{.*}}tokens = "gather"
// RING: train.attention {{.*}}tokens = "ring"
// NONE: train.input = "x", train.token_dim = 1 : i64}
// NONE-SAME: train.input = "times", train.no_tokens}
func.func @step(
    %x: tensor<2x8x4x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %mask: tensor<1x1x1x8xf32> {train.input = "mask"},
    %times: tensor<2x8x4x6xf32> {train.input = "times", train.batch_dim = 0 : i64})
    -> (tensor<2x8x4x6xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 1.0 : f64} : (tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<1x1x1x8xf32>) -> (tensor<2x8x4x6xf32>, tensor<2x4x8xf32>)
  %0 = train.add %result, %times : (tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>) -> tensor<2x8x4x6xf32>
  return %0 : tensor<2x8x4x6xf32>
}
