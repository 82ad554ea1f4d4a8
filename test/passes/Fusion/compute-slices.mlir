// RUN: zc-opt %s --split-input-file --zc-form-regions --zc-compute-slices | FileCheck %s

// Tests q, k and v: rows are one dim, heads and their width another, and the bias
// is cut like the product.
// CHECK-LABEL: func.func @qkv
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x96xf32>, %[[B:.*]]: tensor<96xf32>)
// CHECK-DAG: %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<2x8x96xf32>) -> tensor<16x96xf32>
// CHECK: %[[Q:.*]] = train.fused(%{{.*}}, %[[B]]) : (tensor<16x96xf32>, tensor<96xf32>) -> tensor<16x32xf32>
// CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<16x96xf32>, %[[BIAS:.*]]: tensor<96xf32>):
// CHECK-NEXT: %[[PART:.*]] = train.slice %[[IN]] {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>}
// CHECK-NEXT: %[[CUT:.*]] = train.slice %[[BIAS]] {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<96xf32>) -> tensor<32xf32>
// CHECK-NEXT: %[[SPREAD:.*]] = train.broadcast %[[CUT]] {dims = array<i64: 1>} : (tensor<32xf32>) -> tensor<16x32xf32>
// CHECK-NEXT: %[[SUM:.*]] = train.add %[[PART]], %[[SPREAD]]
// CHECK-NEXT: train.yield %[[SUM]]
// CHECK: train.reshape %[[Q]] : (tensor<16x32xf32>) -> tensor<2x8x1x4x8xf32>
// CHECK: train.fused
// CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 64>, strides = array<i64: 1, 1>}
// CHECK-NOT: train.fused
// CHECK: return
func.func @qkv(%x: tensor<2x8x96xf32>, %b: tensor<96xf32>) -> (tensor<2x8x1x4x8xf32>, tensor<2x8x1x4x8xf32>) {
  %0 = train.broadcast %b {dims = array<i64: 2>} : (tensor<96xf32>) -> tensor<2x8x96xf32>
  %1 = train.add %x, %0 : (tensor<2x8x96xf32>, tensor<2x8x96xf32>) -> tensor<2x8x96xf32>
  %2 = train.reshape %1 : (tensor<2x8x96xf32>) -> tensor<2x8x3x4x8xf32>
  %q = train.slice %2 {offsets = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x8x3x4x8xf32>) -> tensor<2x8x1x4x8xf32>
  %v = train.slice %2 {offsets = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x8x3x4x8xf32>) -> tensor<2x8x1x4x8xf32>
  return %q, %v : tensor<2x8x1x4x8xf32>, tensor<2x8x1x4x8xf32>
}

// -----

// Tests that what varies along no dim that is cut stays whole, and splats are made
// in the part's shape.
// CHECK-LABEL: func.func @rows
// CHECK: train.fused(%{{.*}}, %{{.*}}) : (tensor<4x6xf32>, tensor<4xf32>) -> tensor<4x3xf32>
// CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 1>
// CHECK-NEXT: train.broadcast %{{.*}} {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
// CHECK: train.constant dense<2.0{{.*}}> : tensor<4x3xf32>
func.func @rows(%x: tensor<4x6xf32>, %b: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %0 = train.broadcast %b {dims = array<i64: 0, 1>} : (tensor<4x1xf32>) -> tensor<4x6xf32>
  %two = train.constant dense<2.0> : tensor<4x6xf32>
  %1 = train.add %x, %0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = train.mul %1, %two : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = train.slice %2 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// -----

// Tests what stays as it is: what others read too, parts that are more than the
// whole, gaps, dims that are merged before they are cut, transposed reads.
// CHECK-LABEL: func.func @others
// CHECK: train.exp %{{.*}} : (tensor<4x6xf32>)
func.func @others(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x3xf32>) {
  %0 = train.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @more
// CHECK: train.exp %{{.*}} : (tensor<4x6xf32>)
func.func @more(%x: tensor<4x6xf32>) -> (tensor<4x4xf32>, tensor<4x3xf32>) {
  %0 = train.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %2 = train.slice %0 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @gaps
// CHECK: train.exp %{{.*}} : (tensor<4x6xf32>)
func.func @gaps(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %0 = train.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 2>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @merged
// CHECK: train.exp %{{.*}} : (tensor<4x6xf32>)
func.func @merged(%x: tensor<4x6xf32>) -> tensor<10xf32> {
  %0 = train.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = train.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %2 = train.slice %1 {offsets = array<i64: 3>, strides = array<i64: 1>} : (tensor<24xf32>) -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: train.exp %{{.*}} : (tensor<2x4x6xf32>)
func.func @transposed(%x: tensor<4x2x6xf32>) -> tensor<2x4x3xf32> {
  %0 = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x6xf32>) -> tensor<2x4x6xf32>
  %1 = train.exp %0 : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = train.slice %1 {offsets = array<i64: 0, 0, 1>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x6xf32>) -> tensor<2x4x3xf32>
  return %2 : tensor<2x4x3xf32>
}
