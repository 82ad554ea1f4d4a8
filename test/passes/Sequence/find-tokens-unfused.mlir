// RUN: zc-opt %s --zc-find-tokens="parts=2" | FileCheck %s
// RUN: zc-opt %s --zc-find-tokens="parts=2 attention=gather" | FileCheck %s --check-prefix=GATHER
// RUN: zc-opt %s --zc-find-tokens="parts=8" | FileCheck %s --check-prefix=GATHER
// RUN: not zc-opt %s --zc-find-tokens="parts=2 attention=ring" 2>&1 | FileCheck %s --check-prefix=RING
// RUN: not zc-opt %s --zc-find-tokens="parts=8 attention=ulysses" 2>&1 | FileCheck %s --check-prefix=HEADS

// Tests that the products of an attention whose scores a parameter changes
// divide heads, or queries; products of a loss's softmax are none.
// CHECK: train.input = "x", train.token_dim = 1 : i64}
// CHECK: train.matmul {{.*}}dist.exchange = array<i64: -1, 1>, dist.gathered = array<i64: 4, 2>
// CHECK: train.softmax
// CHECK-NEXT: train.matmul {{.*}}dist.exchange = array<i64: 2, 1>, dist.gathered
// CHECK: train.matmul
// CHECK-NOT: dist.gathered
// GATHER: train.matmul
// GATHER-NOT: dist.exchange
// GATHER-SAME: dist.gathered = array<i64: 4>
// RING: error: changes the scores or weights of an attention, which is several ops then; no ring of ranks hands on their keys; --sp-attention gather and ulysses divide it
// HEADS: error: has 4 heads, which 8 ranks of 'sp' and 'tp' cannot divide; sizes of 'sp' that can are 1, 2, 4; --sp-attention gather divides no heads
func.func @step(
    %x: tensor<2x8x24xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %bias: tensor<2x4x8x8xf32>, %w: tensor<24x5xf32>)
    -> tensor<2x8x5xf32> {
  %0 = train.reshape %x : (tensor<2x8x24xf32>) -> tensor<2x8x4x6xf32>
  %1 = train.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x6xf32>) -> tensor<2x4x8x6xf32>
  %2 = train.matmul %1, %1 {transpose_rhs} : (tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x8x8xf32>
  %3 = train.add %2, %bias : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %4 = train.softmax %3 {dim = 3 : i64} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %5 = train.matmul %4, %1 : (tensor<2x4x8x8xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
  %6 = train.transpose %5 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x8x6xf32>) -> tensor<2x8x4x6xf32>
  %7 = train.reshape %6 : (tensor<2x8x4x6xf32>) -> tensor<2x8x24xf32>
  %8 = train.matmul %7, %w : (tensor<2x8x24xf32>, tensor<24x5xf32>) -> tensor<2x8x5xf32>
  %9 = train.softmax %8 {dim = 2 : i64} : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %9 : tensor<2x8x5xf32>
}
