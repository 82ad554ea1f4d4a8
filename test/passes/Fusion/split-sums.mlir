// RUN: zc-opt %s --zc-form-regions --zc-split-sums=min-elements=1024 | FileCheck %s

// Tests that a sum over tokens, with what is summed in its region, becomes sums a
// sample and their sum, which is the gradient; sums of few elements, of rows and
// over one dim stay.
// CHECK-LABEL: func.func @sums
// CHECK: %[[P:.*]] = train.fused
// CHECK: train.mul
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 1>} : (tensor<4x8x128xf32>) -> tensor<4x128xf32>
// CHECK: train.fused(%[[P]]) {gradients = array<i64: 0>} : (tensor<4x128xf32>) -> tensor<128xf32>
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 0>} : (tensor<4x128xf32>) -> tensor<128xf32>
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 0, 1>} : (tensor<2x8x16xf32>) -> tensor<16xf32>
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 1, 2>} : (tensor<4x8x128xf32>) -> tensor<4xf32>
func.func @sums(%x: tensor<4x8x128xf32>, %y: tensor<4x8x128xf32>, %z: tensor<2x8x16xf32>)
    -> (tensor<128xf32>, tensor<16xf32>, tensor<4xf32>) {
  %m = train.mul %x, %y : (tensor<4x8x128xf32>, tensor<4x8x128xf32>) -> tensor<4x8x128xf32>
  %s = train.reduce "sum" %m {dims = array<i64: 0, 1>, train.gradients = array<i64: 0>} : (tensor<4x8x128xf32>) -> tensor<128xf32>
  %t = train.reduce "sum" %z {dims = array<i64: 0, 1>} : (tensor<2x8x16xf32>) -> tensor<16xf32>
  %u = train.reduce "sum" %x {dims = array<i64: 1, 2>} : (tensor<4x8x128xf32>) -> tensor<4xf32>
  return %s, %t, %u : tensor<128xf32>, tensor<16xf32>, tensor<4xf32>
}
