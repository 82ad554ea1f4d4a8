// RUN: zc-opt %s --zc-shrink-dims="divisors=2 batch-divisors=8" | FileCheck %s
// Tests that what divides samples makes no other dims large.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<8x4xf32>
func.func @forward(%x: tensor<64x32xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<64x32xf32> {
  // CHECK: train.exp %{{.*}} : (tensor<8x4xf32>)
  %0 = train.exp %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
