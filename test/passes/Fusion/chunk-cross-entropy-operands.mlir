// Tests how the parts of a loss read what is made outside of them.
// RUN: zc-opt %s --split-input-file --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s

// A gradient that is broadcast from a tensor of one element, and a bias with
// dims of size 1 in front.
// CHECK-LABEL: func.func @keepdim
// CHECK-COUNT-2: train.softmax_cross_entropy_grad {{.*}} -> tensor<192x
func.func @keepdim(%x: tensor<384x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"}, %s: tensor<1x1xf64> {train.input = "s"}, %t: tensor<2x192xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<2x192xf64>, tensor<4x6xf64>) {
  %v1 = train.matmul %x, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %v2 = train.reshape %v1 : (tensor<384x6xf64>) -> tensor<2x192x6xf64>
  %v3_0, %v3_1 = train.softmax_cross_entropy %v2, %t {ignore_index = 2 : i64} : (tensor<2x192x6xf64>, tensor<2x192xi64>) -> (tensor<2x192xf64>, tensor<2x192xf64>)
  %v4 = train.broadcast %s {dims = array<i64: 0, 1>} : (tensor<1x1xf64>) -> tensor<2x192xf64>
  %v5 = train.softmax_cross_entropy_grad %v2, %t, %v3_1, %v4 {ignore_index = 2 : i64} : (tensor<2x192x6xf64>, tensor<2x192xi64>, tensor<2x192xf64>, tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %v6 = train.reshape %v5 : (tensor<2x192x6xf64>) -> tensor<384x6xf64>
  %v7 = train.matmul %x, %v6 {transpose_lhs} : (tensor<384x4xf64>, tensor<384x6xf64>) -> tensor<4x6xf64>
  return %v3_0, %v7 : tensor<2x192xf64>, tensor<4x6xf64>
}

// -----

// CHECK-LABEL: func.func @keepdim_bias
// CHECK-COUNT-2: train.softmax_cross_entropy_grad {{.*}} -> tensor<192x
func.func @keepdim_bias(%x: tensor<2x192x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"}, %b: tensor<1x1x6xf64> {train.input = "b"}, %s: tensor<f64> {train.input = "s"}, %t: tensor<2x192xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<2x192xf64>, tensor<4x6xf64>) {
  %v1 = train.reshape %x : (tensor<2x192x4xf64>) -> tensor<384x4xf64>
  %v2 = train.matmul %v1, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %v3 = train.reshape %v2 : (tensor<384x6xf64>) -> tensor<2x192x6xf64>
  %v4 = train.broadcast %b {dims = array<i64: 0, 1, 2>} : (tensor<1x1x6xf64>) -> tensor<2x192x6xf64>
  %v5 = train.add %v3, %v4 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %v6_0, %v6_1 = train.softmax_cross_entropy %v5, %t {ignore_index = 2 : i64} : (tensor<2x192x6xf64>, tensor<2x192xi64>) -> (tensor<2x192xf64>, tensor<2x192xf64>)
  %v7 = train.broadcast %s {dims = array<i64>} : (tensor<f64>) -> tensor<2x192xf64>
  %v8 = train.softmax_cross_entropy_grad %v5, %t, %v6_1, %v7 {ignore_index = 2 : i64} : (tensor<2x192x6xf64>, tensor<2x192xi64>, tensor<2x192xf64>, tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %v9 = train.reshape %v8 : (tensor<2x192x6xf64>) -> tensor<384x6xf64>
  %v10 = train.matmul %v1, %v9 {transpose_lhs} : (tensor<384x4xf64>, tensor<384x6xf64>) -> tensor<4x6xf64>
  return %v6_0, %v10 : tensor<2x192xf64>, tensor<4x6xf64>
}

// -----

// A head that is not trained: only what it reads has a gradient.
// CHECK-LABEL: func.func @frozen
// CHECK-COUNT-2: train.softmax_cross_entropy_grad {{.*}} -> tensor<192x
func.func @frozen(%x: tensor<384x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"}, %g: tensor<384xf64> {train.input = "g"}, %t: tensor<384xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<384xf64>, tensor<384x4xf64>) {
  %v1 = train.matmul %x, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %v2_0, %v2_1 = train.softmax_cross_entropy %v1, %t {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>) -> (tensor<384xf64>, tensor<384xf64>)
  %v3 = train.softmax_cross_entropy_grad %v1, %t, %v2_1, %g {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>, tensor<384xf64>, tensor<384xf64>) -> tensor<384x6xf64>
  %v4 = train.matmul %v3, %w {transpose_rhs} : (tensor<384x6xf64>, tensor<4x6xf64>) -> tensor<384x4xf64>
  return %v2_0, %v4 : tensor<384xf64>, tensor<384x4xf64>
}

// -----

// The parts follow what they add to and read: the second gradient is made after
// the first was added.
// CHECK-LABEL: func.func @late
// CHECK-COUNT-2: train.relu
// CHECK: train.softmax_cross_entropy_grad
// CHECK: train.matmul_add
// CHECK: train.softmax_cross_entropy_grad
// CHECK: train.matmul_add
func.func @late(%x: tensor<384x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"}, %g: tensor<384xf64> {train.input = "g"}, %t: tensor<384xi64> {train.input = "t", train.range = array<i64: 0, 6>}, %a: tensor<4x6xf64> {train.input = "a"})
    -> (tensor<384xf64>, tensor<4x6xf64>) {
  %v1 = train.matmul %x, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %v2_0, %v2_1 = train.softmax_cross_entropy %v1, %t {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>) -> (tensor<384xf64>, tensor<384xf64>)
  %v3 = train.softmax_cross_entropy_grad %v1, %t, %v2_1, %g {ignore_index = 2 : i64} : (tensor<384x6xf64>, tensor<384xi64>, tensor<384xf64>, tensor<384xf64>) -> tensor<384x6xf64>
  %v4 = train.relu %a : (tensor<4x6xf64>) -> tensor<4x6xf64>
  %v5 = train.relu %x : (tensor<384x4xf64>) -> tensor<384x4xf64>
  %v6 = train.matmul_add %v4, %v5, %v3 {transpose_lhs} : (tensor<4x6xf64>, tensor<384x4xf64>, tensor<384x6xf64>) -> tensor<4x6xf64>
  return %v2_0, %v6 : tensor<384xf64>, tensor<4x6xf64>
}
