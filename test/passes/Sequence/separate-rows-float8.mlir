// RUN: zc-opt %s --zc-separate-rows | FileCheck %s

// Tests that blocks of 128 rows are of one sample's tokens, and that scales stay
// with their rows.
// CHECK-LABEL: func.func @step
// CHECK: train.amax %{{.*}} dims [2] : (tensor<2x2x128x32xf32>) -> tensor<2x2x32xf32>
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 0, 1, 3>} : (tensor<2x2x32xf32>) -> tensor<2x2x128x32xf32>
// CHECK: train.scaled_matmul %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<2x256x32xf8E4M3FN>, tensor<2x256x32xf8E4M3FN>, tensor<2x2x32xf32>, tensor<2x2x32xf32>) -> tensor<32x32xbf16>
func.func @step(
    %x: tensor<2x256x32xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> tensor<32x32xbf16> {
  %0 = train.reshape %x : (tensor<2x256x32xf32>) -> tensor<512x32xf32>
  %1 = train.reshape %0 : (tensor<512x32xf32>) -> tensor<4x128x32xf32>
  %2 = train.amax %1 dims [1] : (tensor<4x128x32xf32>) -> tensor<4x32xf32>
  %3 = train.floor_power %2 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = train.broadcast %3 {dims = array<i64: 0, 2>} : (tensor<4x32xf32>) -> tensor<4x128x32xf32>
  %5 = train.mul %1, %4 : (tensor<4x128x32xf32>, tensor<4x128x32xf32>) -> tensor<4x128x32xf32>
  %6 = train.convert %5 : (tensor<4x128x32xf32>) -> tensor<4x128x32xf8E4M3FN>
  %7 = train.reshape %6 : (tensor<4x128x32xf8E4M3FN>) -> tensor<512x32xf8E4M3FN>
  %8 = train.scaled_matmul %7, %7, %3, %3 {transpose_lhs} : (tensor<512x32xf8E4M3FN>, tensor<512x32xf8E4M3FN>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<32x32xbf16>
  return %8 : tensor<32x32xbf16>
}

// Tests that what no scale is of is repeated as rows that are merged, as without
// 8-bit floats.
// CHECK-LABEL: func.func @others
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x32xf32>
func.func @others(
    %x: tensor<2x256x32xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> tensor<512x32xf32> {
  %0 = train.reshape %x : (tensor<2x256x32xf32>) -> tensor<512x32xf32>
  %1 = train.amax %0 dims [1] : (tensor<512x32xf32>) -> tensor<512xf32>
  %2 = train.broadcast %1 {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x32xf32>
  return %2 : tensor<512x32xf32>
}
