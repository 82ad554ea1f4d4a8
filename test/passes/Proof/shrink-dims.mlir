// RUN: zc-opt %s --split-input-file --zc-shrink-dims=divisors=2,4 | FileCheck %s
// Tests features of heads, fused projections, tables of inputs and of programs,
// blocks of constants, and dims that keep their size.

// Samples and heads divide by 2 and 4 as before; features of a head by neither.
train.state @w "parameter" : tensor<90x30xf32> {value = dense<1.0> : tensor<90x30xf32>}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %{{.*}}: tensor<[[H:[0-9]+]]x[[D:[0-9]+]]xf32> {train.state = @w}
// CHECK-SAME: %{{.*}}: tensor<4x4x[[D]]xf32>
func.func @forward(%w: tensor<90x30xf32> {train.state = @w}, %x: tensor<8x16x30xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x16x2x15xf32> {
  // CHECK: train.reshape %{{.*}} : (tensor<4x4x[[D]]xf32>) -> tensor<16x[[D]]xf32>
  %0 = train.reshape %x : (tensor<8x16x30xf32>) -> tensor<128x30xf32>
  %1 = train.matmul %0, %w {transpose_rhs} : (tensor<128x30xf32>, tensor<90x30xf32>) -> tensor<128x90xf32>
  // CHECK: train.reshape %{{.*}} -> tensor<4x4x3x2x[[F:[35]]]xf32>
  %2 = train.reshape %1 : (tensor<128x90xf32>) -> tensor<8x16x3x2x15xf32>
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 0, 2, 0, 0>
  // CHECK-SAME: tensor<4x4x1x2x[[F]]xf32>
  %3 = train.slice %2 {offsets = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<8x16x3x2x15xf32>) -> tensor<8x16x1x2x15xf32>
  %4 = train.reshape %3 : (tensor<8x16x1x2x15xf32>) -> tensor<8x16x2x15xf32>
  return %4 : tensor<8x16x2x15xf32>
}

// -----

// The second of two blocks of 20 begins at the new size of one.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<8x40xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x20xf32> {
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 4>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %0 = train.slice %x {offsets = array<i64: 0, 20>, strides = array<i64: 1, 1>} : (tensor<8x40xf32>) -> tensor<8x20xf32>
  return %0 : tensor<8x20xf32>
}

// -----

// A slice that is no block keeps both sizes.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<8x40xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x20xf32> {
  // CHECK: {offsets = array<i64: 0, 7>, strides = array<i64: 1, 1>} : (tensor<4x40xf32>) -> tensor<4x20xf32>
  %0 = train.slice %x {offsets = array<i64: 0, 7>, strides = array<i64: 1, 1>} : (tensor<8x40xf32>) -> tensor<8x20xf32>
  return %0 : tensor<8x20xf32>
}

// -----

// Indices of an input stay inside of the smaller table.
train.state @t "parameter" : tensor<100x20xf32>
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4x4xf32> {train.state = @t}
// CHECK-SAME: train.range = array<i64: 0, 4>
func.func @forward(%t: tensor<100x20xf32> {train.state = @t}, %i: tensor<8xi64> {train.input = "i", train.batch_dim = 0, train.range = array<i64: 0, 100>}) -> tensor<8x20xf32> {
  %0 = train.gather %t, %i {dim = 0 : i64} : (tensor<100x20xf32>, tensor<8xi64>) -> tensor<8x20xf32>
  return %0 : tensor<8x20xf32>
}

// -----

// Indices that the program computes may be any: the table keeps its rows.
train.state @t "parameter" : tensor<100x20xf32>
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<100x4xf32> {train.state = @t}
func.func @forward(%t: tensor<100x20xf32> {train.state = @t}, %i: tensor<8xi64> {train.input = "i", train.batch_dim = 0}) -> tensor<8x20xf32> {
  %0 = train.add %i, %i : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %1 = train.gather %t, %0 {dim = 0 : i64} : (tensor<100x20xf32>, tensor<8xi64>) -> tensor<8x20xf32>
  return %1 : tensor<8x20xf32>
}

// -----

// A constant keeps its first elements; 5 divides by neither 2 nor 4.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<5xf32> {train.input = "x"}) -> tensor<5xf32> {
  // CHECK: train.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
  %0 = train.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %1 = train.mul %x, %0 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// -----

// A scalar has no dims.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4xf32>
func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<f32> {
  // CHECK: train.reduce "sum" %{{.*}} : (tensor<4xf32>) -> tensor<f32>
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Rows of experts shrink, but not where the file says how many find room.
train.state @w "parameter" : tensor<2x20x6xf32>
// CHECK-LABEL: func.func @forward
func.func @forward(%w: tensor<2x20x6xf32> {train.state = @w}, %x: tensor<16x20xf32> {train.input = "x", train.batch_dim = 0}, %y: tensor<24x20xf32> {train.input = "y"}, %a: tensor<16xi64>, %b: tensor<24xi64>, %ids: tensor<2xi64>) -> (tensor<16x6xf32>, tensor<24x6xf32>) {
  // CHECK: train.grouped_matmul {{.*}} : (tensor<4x[[D:[0-9]+]]xf32>, tensor<2x[[D]]x6xf32>
  %0 = train.grouped_matmul %x, %w, %a, %ids {experts = 2 : i64} : (tensor<16x20xf32>, tensor<2x20x6xf32>, tensor<16xi64>, tensor<2xi64>) -> tensor<16x6xf32>
  // CHECK: train.grouped_matmul {{.*}} : (tensor<24x[[D]]xf32>
  %1 = train.grouped_matmul %y, %w, %b, %ids {experts = 2 : i64, room_groups = 2 : i64, room_capacity = 8 : i64} : (tensor<24x20xf32>, tensor<2x20x6xf32>, tensor<24xi64>, tensor<2xi64>) -> tensor<24x6xf32>
  return %0, %1 : tensor<16x6xf32>, tensor<24x6xf32>
}
