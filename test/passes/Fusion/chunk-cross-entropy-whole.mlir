// RUN: zc-opt %s --split-input-file --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s

// Tests logits that have to exist whole, and those of which little would be saved.

// The gradient is scaled by the sum of all losses.
// CHECK-LABEL: func.func @needs_sum
// CHECK-NOT: train.slice
func.func @needs_sum(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %t: tensor<256xi64>)
    -> (tensor<256xf32>, tensor<4x10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %loss, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  %2 = train.reduce "sum" %loss {dims = array<i64: 0>} : (tensor<256xf32>) -> tensor<f32>
  %3 = train.broadcast %2 {dims = array<i64>} : (tensor<f32>) -> tensor<256xf32>
  %4 = train.softmax_cross_entropy_grad %1, %t, %lse, %3 {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>, tensor<256xf32>, tensor<256xf32>) -> tensor<256x10xf32>
  %5 = train.matmul %x, %4 {transpose_lhs} : (tensor<256x4xf32>, tensor<256x10xf32>) -> tensor<4x10xf32>
  return %loss, %5 : tensor<256xf32>, tensor<4x10xf32>
}

// -----

// Samples meet: the largest logit of each class is subtracted.
// CHECK-LABEL: func.func @meet
// CHECK-NOT: train.slice
func.func @meet(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %t: tensor<256xi64>, %s: tensor<256xf32>)
    -> (tensor<256xf32>, tensor<4x10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %2 = train.reduce "max" %1 {dims = array<i64: 0>} : (tensor<256x10xf32>) -> tensor<10xf32>
  %3 = train.broadcast %2 {dims = array<i64: 1>} : (tensor<10xf32>) -> tensor<256x10xf32>
  %4 = train.sub %1, %3 : (tensor<256x10xf32>, tensor<256x10xf32>) -> tensor<256x10xf32>
  %loss, %lse = train.softmax_cross_entropy %4, %t {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  %6 = train.softmax_cross_entropy_grad %4, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>, tensor<256xf32>, tensor<256xf32>) -> tensor<256x10xf32>
  %7 = train.matmul %x, %6 {transpose_lhs} : (tensor<256x4xf32>, tensor<256x10xf32>) -> tensor<4x10xf32>
  return %loss, %7 : tensor<256xf32>, tensor<4x10xf32>
}

// -----

// A hidden layer between two tensors of the logits' shape has more than a number
// a row.
// CHECK-LABEL: func.func @residual
// CHECK-NOT: train.slice
func.func @residual(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %u: tensor<10x8xf32>, %v: tensor<8x10xf32>,
                    %t: tensor<256xi64>, %s: tensor<256xf32>) -> (tensor<256xf32>, tensor<8x10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %2 = train.matmul %1, %u : (tensor<256x10xf32>, tensor<10x8xf32>) -> tensor<256x8xf32>
  %h = train.relu %2 : (tensor<256x8xf32>) -> tensor<256x8xf32>
  %3 = train.matmul %h, %v : (tensor<256x8xf32>, tensor<8x10xf32>) -> tensor<256x10xf32>
  %4 = train.add %1, %3 : (tensor<256x10xf32>, tensor<256x10xf32>) -> tensor<256x10xf32>
  %loss, %lse = train.softmax_cross_entropy %4, %t {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  %6 = train.softmax_cross_entropy_grad %4, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>, tensor<256xf32>, tensor<256xf32>) -> tensor<256x10xf32>
  %7 = train.matmul %h, %6 {transpose_lhs} : (tensor<256x8xf32>, tensor<256x10xf32>) -> tensor<8x10xf32>
  return %loss, %7 : tensor<256xf32>, tensor<8x10xf32>
}

// -----

// An evaluation reads them once.
// CHECK-LABEL: func.func @evaluation
// CHECK-NOT: train.slice
func.func @evaluation(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %t: tensor<256xi64>) -> tensor<256xf32> {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %loss, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  return %loss : tensor<256xf32>
}

// -----

// A gradient that is padded before it is read would be joined whole.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: tensor<192x
func.func @padded(%x: tensor<384x4xf64> {train.input = "x"}, %w: tensor<4x8xf64> {train.input = "w"}, %g: tensor<384xf64> {train.input = "g"}, %t: tensor<384xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<384xf64>, tensor<4x8xf64>, tensor<6xf64>) {
  %v1 = train.matmul %x, %w : (tensor<384x4xf64>, tensor<4x8xf64>) -> tensor<384x8xf64>
  %v2 = train.slice %v1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<384x8xf64>) -> tensor<384x6xf64>
  %v3_0, %v3_1 = train.softmax_cross_entropy %v2, %t {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>) -> (tensor<384xf64>, tensor<384xf64>)
  %v4 = train.softmax_cross_entropy_grad %v2, %t, %v3_1, %g {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>, tensor<384xf64>, tensor<384xf64>) -> tensor<384x6xf64>
  %v5 = train.reduce "sum" %v4 {dims = array<i64: 0>} : (tensor<384x6xf64>) -> tensor<6xf64>
  %v6 = train.pad %v4 {low = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<384x6xf64>) -> tensor<384x8xf64>
  %v7 = train.matmul %x, %v6 {transpose_lhs} : (tensor<384x4xf64>, tensor<384x8xf64>) -> tensor<4x8xf64>
  return %v3_0, %v7, %v5 : tensor<384xf64>, tensor<4x8xf64>, tensor<6xf64>
}
