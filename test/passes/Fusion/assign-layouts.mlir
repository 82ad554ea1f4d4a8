// RUN: zc-opt %s --zc-assign-layouts --canonicalize | FileCheck %s

// Tests that between two convolutions, through batch norm's bias and relu, no
// transpose is left: one where the images enter, one where they leave.
// CHECK-LABEL: func.func @two_convolutions
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x8xf32>) -> tensor<2x8x8x3xf32>
// CHECK-NOT: train.transpose
// CHECK: train.conv %{{.*}} {channels_last
// CHECK-NOT: train.transpose
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 3>} : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
// CHECK: train.relu
// CHECK-NOT: train.transpose
// CHECK: train.conv %{{.*}} {channels_last
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x8x8x4xf32>) -> tensor<2x4x8x8xf32>
// CHECK-NOT: train.transpose
// CHECK: return
func.func @two_convolutions(%x: tensor<2x3x8x8xf32>, %f: tensor<4x3x3x3xf32>, %g: tensor<4x4x3x3xf32>, %b: tensor<4xf32>)
    -> tensor<2x4x8x8xf32> {
  %0 = train.conv %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
      pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = train.broadcast %b {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %2 = train.add %0, %1 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %3 = train.relu %2 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %4 = train.conv %3, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
      pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return %4 : tensor<2x4x8x8xf32>
}
