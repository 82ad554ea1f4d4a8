// RUN: zc-opt %s --zc-recognize-experts --canonicalize | FileCheck %s

// Tests that matrices looked up on the left, as transformers' batched_mm writes
// them, are never looked up; indices that were counted from the beginning stay.
// CHECK-LABEL: func.func @batched
// CHECK-SAME: (%[[W:[^:]*]]: tensor<4x6x3xf32>, %[[X:[^:]*]]: tensor<8x3x1xf32>
// CHECK: %[[CHOSEN:.*]] = train.select
// CHECK: %[[IDS:.*]] = train.iota
// CHECK: %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<8x3x1xf32>) -> tensor<8x3xf32>
// CHECK: %[[R:.*]] = train.grouped_matmul %[[ROWS]], %[[W]], %[[CHOSEN]], %[[IDS]] {experts = 4 : i64, transpose_weights}
// CHECK-NOT: train.gather
// CHECK: train.reshape %[[R]] : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
func.func @batched(%w: tensor<4x6x3xf32>, %x: tensor<8x3x1xf32>, %i: tensor<8xi64>) -> tensor<8x6x1xf32> {
  %zero = train.constant dense<0> : tensor<8xi64>
  %four = train.constant dense<4> : tensor<8xi64>
  %0 = train.compare "lt" %i, %zero : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %1 = train.add %i, %four : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %2 = train.select %0, %1, %i : (tensor<8xi1>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = train.gather %w, %2 {dim = 0 : i64} : (tensor<4x6x3xf32>, tensor<8xi64>) -> tensor<8x6x3xf32>
  %4 = train.matmul %3, %x : (tensor<8x6x3xf32>, tensor<8x3x1xf32>) -> tensor<8x6x1xf32>
  return %4 : tensor<8x6x1xf32>
}

// Tests matrices on the right, transposed before the product, for several rows
// each: a row's index is that of its batch entry.
// CHECK-LABEL: func.func @rows
// CHECK: train.grouped_matmul {{.*}} {experts = 4 : i64, transpose_weights} : (tensor<12x3xf32>, tensor<4x5x3xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<12x5xf32>
// CHECK-NOT: train.matmul
func.func @rows(%w: tensor<4x5x3xf32>, %x: tensor<2x3x2x3xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x2x5xf32> {
  %0 = train.gather %w, %i {dim = 0 : i64} : (tensor<4x5x3xf32>, tensor<2x3xi64>) -> tensor<2x3x5x3xf32>
  %1 = train.transpose %0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x3x5x3xf32>) -> tensor<2x3x3x5xf32>
  %2 = train.matmul %x, %1 : (tensor<2x3x2x3xf32>, tensor<2x3x3x5xf32>) -> tensor<2x3x2x5xf32>
  return %2 : tensor<2x3x2x5xf32>
}

// Tests what stays: both factors looked up, a table of vectors, a lookup along
// another dim, and one whose padding has no gradient.
// CHECK-LABEL: func.func @others
// CHECK-NOT: train.grouped_matmul
func.func @others(%w: tensor<4x5x3xf32>, %v: tensor<4x3xf32>, %x: tensor<8x1x5xf32>, %u: tensor<5x3x4xf32>, %i: tensor<8xi64>, %j: tensor<8x3xi64>) -> (tensor<8x5x5xf32>, tensor<8x1x3xf32>, tensor<5x3x3xf32>, tensor<8x1x3xf32>) {
  %0 = train.gather %w, %i {dim = 0 : i64} : (tensor<4x5x3xf32>, tensor<8xi64>) -> tensor<8x5x3xf32>
  %1 = train.matmul %0, %0 {transpose_rhs} : (tensor<8x5x3xf32>, tensor<8x5x3xf32>) -> tensor<8x5x5xf32>
  %2 = train.gather %v, %j {dim = 0 : i64} : (tensor<4x3xf32>, tensor<8x3xi64>) -> tensor<8x3x3xf32>
  %3 = train.slice %x {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<8x1x5xf32>) -> tensor<8x1x3xf32>
  %4 = train.matmul %3, %2 : (tensor<8x1x3xf32>, tensor<8x3x3xf32>) -> tensor<8x1x3xf32>
  %5 = train.slice %i {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<8xi64>) -> tensor<3xi64>
  %6 = train.gather %u, %5 {dim = 2 : i64} : (tensor<5x3x4xf32>, tensor<3xi64>) -> tensor<5x3x3xf32>
  %7 = train.matmul %6, %6 : (tensor<5x3x3xf32>, tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
  %8 = train.gather %w, %i {dim = 0 : i64, padding_index = 0 : i64} : (tensor<4x5x3xf32>, tensor<8xi64>) -> tensor<8x5x3xf32>
  %9 = train.matmul %x, %8 : (tensor<8x1x5xf32>, tensor<8x5x3xf32>) -> tensor<8x1x3xf32>
  return %1, %4, %7, %9 : tensor<8x5x5xf32>, tensor<8x1x3xf32>, tensor<5x3x3xf32>, tensor<8x1x3xf32>
}
