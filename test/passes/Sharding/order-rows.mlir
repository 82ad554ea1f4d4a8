// RUN: zc-opt %s --zc-order-rows | FileCheck %s

// Rows of tokens and samples of an attention's projections: all transposes meet.
// CHECK-LABEL: func.func @projections
// CHECK-NOT: train.transpose
// CHECK: %[[ROWS:.*]] = train.reshape %{{.*}} : (tensor<4x32x8xf32>) -> tensor<128x8xf32>
// CHECK: %[[PRODUCT:.*]] = train.matmul %[[ROWS]]
// CHECK: %[[BACK:.*]] = train.reshape %[[PRODUCT]] : (tensor<128x16xf32>) -> tensor<4x32x16xf32>
// CHECK: %[[BIAS:.*]] = train.broadcast %{{.*}} {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<4x32x16xf32>
// CHECK: %[[SUM:.*]] = train.add %[[BACK]], %[[BIAS]]
// CHECK-NOT: train.transpose
// CHECK: return
func.func @projections(%x: tensor<4x32x8xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x32x2x8xf32> {
  %0 = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x32x8xf32>) -> tensor<32x4x8xf32>
  %1 = train.reshape %0 : (tensor<32x4x8xf32>) -> tensor<128x8xf32>
  %2 = train.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  %3 = train.reshape %2 : (tensor<128x16xf32>) -> tensor<32x4x16xf32>
  %4 = train.broadcast %b {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<32x4x16xf32>
  %5 = train.add %3, %4 : (tensor<32x4x16xf32>, tensor<32x4x16xf32>) -> tensor<32x4x16xf32>
  %6 = train.reshape %5 : (tensor<32x4x16xf32>) -> tensor<32x4x2x8xf32>
  %7 = train.transpose %6 {permutation = array<i64: 1, 0, 2, 3>} : (tensor<32x4x2x8xf32>) -> tensor<4x32x2x8xf32>
  return %7 : tensor<4x32x2x8xf32>
}

// Somebody sees the order of rows: it stays.
// CHECK-LABEL: func.func @seen
// CHECK: train.transpose
// CHECK: train.reshape %{{.*}} : (tensor<32x4x8xf32>) -> tensor<128x8xf32>
func.func @seen(%x: tensor<4x32x8xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %w: tensor<8x16xf32>) -> tensor<128x16xf32> {
  %0 = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x32x8xf32>) -> tensor<32x4x8xf32>
  %1 = train.reshape %0 : (tensor<32x4x8xf32>) -> tensor<128x8xf32>
  %2 = train.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
  return %2 : tensor<128x16xf32>
}

// Rows whose samples stand in the middle, and which other dims follow.
// CHECK-LABEL: func.func @middle
// CHECK: %[[FRONT:.*]] = train.transpose %{{.*}} {permutation = array<i64: 1, 0, 2, 3>} : (tensor<3x4x5x8xf32>) -> tensor<4x3x5x8xf32>
// CHECK: train.reshape %[[FRONT]] : (tensor<4x3x5x8xf32>) -> tensor<60x8xf32>
// CHECK: train.matmul
// CHECK: train.reshape %{{.*}} : (tensor<60x8xf32>) -> tensor<4x3x5x8xf32>
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 1, 0, 2, 3>} : (tensor<4x3x5x8xf32>) -> tensor<3x4x5x8xf32>
func.func @middle(%x: tensor<3x4x5x8xf32> {train.input = "x", train.batch_dim = 1 : i64},
    %w: tensor<8x8xf32>) -> tensor<3x4x5x8xf32> {
  %0 = train.reshape %x : (tensor<3x4x5x8xf32>) -> tensor<60x8xf32>
  %1 = train.matmul %0, %w : (tensor<60x8xf32>, tensor<8x8xf32>) -> tensor<60x8xf32>
  %2 = train.reshape %1 : (tensor<60x8xf32>) -> tensor<3x4x5x8xf32>
  return %2 : tensor<3x4x5x8xf32>
}

// A product of x with itself makes both its dims count samples, of which one is
// in front: nothing is to be ordered.
// CHECK-LABEL: func.func @both
// CHECK-NOT: train.transpose
// CHECK: return
func.func @both(%x: tensor<4x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32>, tensor<4x4xf32>) {
  %0 = train.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.reshape %0 : (tensor<4x4xf32>) -> tensor<16xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 0>} : (tensor<16xf32>) -> tensor<f32>
  return %3, %1 : tensor<f32>, tensor<4x4xf32>
}

// Two rows that are added have samples at different places: one of them gets its
// way, and the pass ends.
// CHECK-LABEL: func.func @twice
// CHECK: return
func.func @twice(%x: tensor<4x4x2xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %y: tensor<4x4x2xf32> {train.input = "y", train.batch_dim = 1 : i64}) -> tensor<4x4x2xf32> {
  %0 = train.reshape %x : (tensor<4x4x2xf32>) -> tensor<16x2xf32>
  %1 = train.reshape %y : (tensor<4x4x2xf32>) -> tensor<16x2xf32>
  %2 = train.add %0, %1 : (tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  %3 = train.reshape %2 : (tensor<16x2xf32>) -> tensor<4x4x2xf32>
  return %3 : tensor<4x4x2xf32>
}
