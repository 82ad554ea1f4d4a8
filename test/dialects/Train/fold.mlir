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

// Tests that slices and reshapes go before transposes, whose dims they keep.
// CHECK-LABEL: @sink_transposes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4x5xf32>)
// CHECK-NEXT: %[[S:.*]] = train.slice %[[X]] {offsets = array<i64: 0, 0, 1, 0>, strides = array<i64: 1, 1, 2, 1>} : (tensor<2x3x4x5xf32>) -> tensor<2x3x2x5xf32>
// CHECK-NEXT: %[[R:.*]] = train.reshape %[[S]] : (tensor<2x3x2x5xf32>) -> tensor<1x6x2x5xf32>
// CHECK-NEXT: %[[T:.*]] = train.transpose %[[R]] {permutation = array<i64: 2, 3, 0, 1>} : (tensor<1x6x2x5xf32>) -> tensor<2x5x1x6xf32>
// CHECK-NEXT: return %[[T]]
func.func @sink_transposes(%x: tensor<2x3x4x5xf32>) -> tensor<2x5x1x6xf32> {
  %0 = train.transpose %x {permutation = array<i64: 2, 3, 0, 1>} : (tensor<2x3x4x5xf32>) -> tensor<4x5x2x3xf32>
  %1 = train.slice %0 {offsets = array<i64: 1, 0, 0, 0>, strides = array<i64: 2, 1, 1, 1>} : (tensor<4x5x2x3xf32>) -> tensor<2x5x2x3xf32>
  %2 = train.reshape %1 : (tensor<2x5x2x3xf32>) -> tensor<2x5x1x6xf32>
  return %2 : tensor<2x5x1x6xf32>
}

// Tests that a reshape that merges dims which change places stays behind them.
// CHECK-LABEL: @merged_after_transpose
// CHECK: train.transpose
// CHECK-NEXT: train.reshape
func.func @merged_after_transpose(%x: tensor<2x3x4xf32>) -> tensor<12x2xf32> {
  %0 = train.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = train.reshape %0 : (tensor<4x3x2xf32>) -> tensor<12x2xf32>
  return %1 : tensor<12x2xf32>
}

// Tests that the gradients of neighbouring slices are put side by side.
// CHECK-LABEL: @join_pads
// CHECK-SAME: (%[[A:.*]]: tensor<2x1xf32>, %[[B:.*]]: tensor<2x3xf32>, %[[C:.*]]: tensor<2x2xf32>)
// CHECK-NEXT: %[[R:.*]] = train.concat %[[A]], %[[B]], %[[C]] {dim = 1 : i64}
// CHECK-NEXT: return %[[R]]
func.func @join_pads(%a: tensor<2x1xf32>, %b: tensor<2x3xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  %0 = train.pad %a {low = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %1 = train.pad %b {low = array<i64: 0, 1>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = train.pad %c {low = array<i64: 0, 4>, interior = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %3 = train.add %2, %1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %4 = train.add %3, %0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// Tests that pads that overlap are added.
// CHECK-LABEL: @overlapping_pads
// CHECK: train.add
func.func @overlapping_pads(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<3xf32> {
  %0 = train.pad %a {low = array<i64: 0>, interior = array<i64: 0>} : (tensor<2xf32>) -> tensor<3xf32>
  %1 = train.pad %b {low = array<i64: 1>, interior = array<i64: 0>} : (tensor<2xf32>) -> tensor<3xf32>
  %2 = train.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}

// Tests that rows are scattered into a sum, which keeps what it is marked as.
// CHECK-LABEL: @scatter_into_sum
// CHECK-SAME: (%[[X:.*]]: tensor<5x3xf32>, %[[I:.*]]: tensor<2xi64>, %[[U:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[R:.*]] = train.scatter_add %[[X]], %[[I]], %[[U]] {dim = 0 : i64, train.gradients = array<i64: 0>}
// CHECK-NEXT: return %[[R]]
func.func @scatter_into_sum(%x: tensor<5x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %zero = train.constant dense<0.0> : tensor<5x3xf32>
  %0 = train.scatter_add %zero, %i, %u {dim = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %1 = train.add %x, %0 {train.gradients = array<i64: 0>} : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// Tests that slices that are reduced alike are reduced at once: bags of
// embeddings that a loop took one after the other.
// CHECK-LABEL: @reduced_slices
// CHECK-SAME: (%[[X:.*]]: tensor<6x4xf32>)
// CHECK: %[[C:.*]] = train.constant dense<2.000000e+00> : tensor<3x4xf32>
// CHECK: %[[P:.*]] = train.reshape %[[X]] : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
// CHECK: %[[S:.*]] = train.reduce "max" %[[P]] {dims = array<i64: 1>} : (tensor<3x2x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[R:.*]] = train.div %[[S]], %[[C]]
// CHECK: return %[[R]]
func.func @reduced_slices(%x: tensor<6x4xf32>) -> tensor<3x4xf32> {
  %two = train.constant dense<2.0> : tensor<1x4xf32>
  %0 = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  %1 = train.reduce "max" %0 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %2 = train.reshape %1 : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = train.div %2, %two : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = train.slice %x {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  %5 = train.reduce "max" %4 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %6 = train.reshape %5 : (tensor<4xf32>) -> tensor<1x4xf32>
  %7 = train.div %6, %two : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %8 = train.slice %x {offsets = array<i64: 4, 0>, strides = array<i64: 1, 1>} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  %9 = train.reduce "max" %8 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %10 = train.reshape %9 : (tensor<4xf32>) -> tensor<1x4xf32>
  %11 = train.div %10, %two : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %12 = train.concat %3, %7, %11 {dim = 0 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return %12 : tensor<3x4xf32>
}

// Tests that slices of the same rows in another order, or along another dim
// than the one reduced, stay what they are.
// CHECK-LABEL: @other_slices
// CHECK-COUNT-4: train.reduce
// CHECK: return
func.func @other_slices(%x: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x2xf32>) {
  %0 = train.slice %x {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %2 = train.reshape %1 : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %4 = train.reduce "sum" %3 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %5 = train.reshape %4 : (tensor<4xf32>) -> tensor<1x4xf32>
  %6 = train.concat %2, %5 {dim = 0 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %7 = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %8 = train.reduce "sum" %7 {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
  %9 = train.reshape %8 : (tensor<2xf32>) -> tensor<1x2xf32>
  %10 = train.slice %x {offsets = array<i64: 0, 2>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %11 = train.reduce "sum" %10 {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
  %12 = train.reshape %11 : (tensor<2xf32>) -> tensor<1x2xf32>
  %13 = train.concat %9, %12 {dim = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  return %6, %13 : tensor<2x4xf32>, tensor<2x2xf32>
}

// Tests that an op which takes another's place is the gradient that it was.
// CHECK-LABEL: @gradient_of_transposes
// CHECK: train.matmul {{.*}}train.gradients = array<i64: 0>, train.kept_gradients = array<i64: 0>
func.func @gradient_of_transposes(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = train.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = train.matmul %0, %b {train.gradients = array<i64: 0>, train.kept_gradients = array<i64: 0>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}
