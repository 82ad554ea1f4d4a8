// RUN: zc-opt %s --canonicalize | FileCheck %s

// Tests that adding 0 and multiplying by 1 go away.
// CHECK-LABEL: @neutral_elements
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @neutral_elements(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = train.constant dense<0.0> : tensor<3xf32>
  %one = train.constant dense<1.0> : tensor<3xf32>
  %0 = train.add %zero, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = train.sub %0, %zero : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = train.mul %1, %one : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = train.div %2, %one : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %3 : tensor<3xf32>
}

// Tests that shape ops that change nothing go away.
// CHECK-LABEL: @same_shape
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @same_shape(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = train.broadcast %x {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = train.reshape %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = train.transpose %1 {permutation = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = train.slice %2 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// Tests that a chain of reshapes is one.
// CHECK-LABEL: @reshape_chain
// CHECK-SAME: (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT: %[[Y:.*]] = train.reshape %[[X]] : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshape_chain(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = train.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = train.reshape %0 : (tensor<12xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// Tests that two transposes are one, or none.
// CHECK-LABEL: @transpose_chain
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[Y:.*]] = train.transpose %[[X]] {permutation = array<i64: 2, 0, 1>}
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @transpose_chain(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>) {
  %0 = train.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = train.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %2 = train.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<4x2x3xf32>
}

// Tests that moving the elements of a splat gives a splat.
// CHECK-LABEL: @splats
// CHECK-NEXT: %[[C:.*]] = train.constant dense<2.000000e+00> : tensor<2x1xf32>
// CHECK-NEXT: return %[[C]]
func.func @splats() -> tensor<2x1xf32> {
  %c = train.constant dense<2.0> : tensor<3xf32>
  %0 = train.broadcast %c {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<4x3xf32>
  %1 = train.reshape %0 : (tensor<4x3xf32>) -> tensor<2x6xf32>
  %2 = train.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %3 = train.slice %2 {offsets = array<i64: 1, 0>, strides = array<i64: 4, 1>} : (tensor<6x2xf32>) -> tensor<2x2xf32>
  %4 = train.slice %3 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  return %4 : tensor<2x1xf32>
}

// Tests that matmul takes transposes of its operands as strides.
// CHECK-LABEL: @matmul_of_transposes
// CHECK-SAME: (%[[A:.*]]: tensor<3x2xf32>, %[[B:.*]]: tensor<5x3xf32>)
// CHECK-NEXT: %[[C:.*]] = train.matmul %[[A]], %[[B]] {transpose_lhs, transpose_rhs}
// CHECK-NEXT: return %[[C]]
func.func @matmul_of_transposes(%a: tensor<3x2xf32>, %b: tensor<5x3xf32>) -> tensor<2x5xf32> {
  %0 = train.transpose %a {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %1 = train.transpose %b {permutation = array<i64: 1, 0>} : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %2 = train.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %2 : tensor<2x5xf32>
}
