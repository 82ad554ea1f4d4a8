// RUN: zc-opt %s --zc-separate-rows | FileCheck %s

// Tests that a product of rows of samples and tokens has rows of both, that what
// is the same for all rows stays so, and that a matrix' gradient sums over both.
// CHECK-LABEL: func.func @step
// CHECK: %[[P:.*]] = train.matmul %{{.*}}, %{{.*}} : (tensor<4x6x8xf32>, tensor<8x5xf32>) -> tensor<4x6x5xf32>
// CHECK: %[[B:.*]] = train.broadcast %{{.*}} {dims = array<i64: 2>} : (tensor<5xf32>) -> tensor<4x6x5xf32>
// CHECK: train.add %[[P]], %[[B]]
// CHECK: train.matmul %{{.*}} {transpose_lhs} : (tensor<4x6x8xf32>, tensor<4x6x5xf32>) -> tensor<8x5xf32>
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 0, 1>} : (tensor<4x6x5xf32>) -> tensor<5xf32>
// CHECK-NOT: tensor<24x
func.func @step(
    %x: tensor<4x6x8xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %w: tensor<8x5xf32>, %b: tensor<5xf32>)
    -> (tensor<4x6x5xf32>, tensor<8x5xf32>, tensor<5xf32>) {
  %0 = train.reshape %x : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
  %1 = train.matmul %0, %w : (tensor<24x8xf32>, tensor<8x5xf32>) -> tensor<24x5xf32>
  %2 = train.broadcast %b {dims = array<i64: 1>} : (tensor<5xf32>) -> tensor<24x5xf32>
  %3 = train.add %1, %2 : (tensor<24x5xf32>, tensor<24x5xf32>) -> tensor<24x5xf32>
  %4 = train.reshape %3 : (tensor<24x5xf32>) -> tensor<4x6x5xf32>
  %5 = train.matmul %0, %3 {transpose_lhs} : (tensor<24x8xf32>, tensor<24x5xf32>) -> tensor<8x5xf32>
  %6 = train.reduce "sum" %3 {dims = array<i64: 0>} : (tensor<24x5xf32>) -> tensor<5xf32>
  return %4, %5, %6 : tensor<4x6x5xf32>, tensor<8x5xf32>, tensor<5xf32>
}

// Tests that rows which only are as many as samples stay together: these are the
// shares that two ranks have of weights, one behind the other.
// CHECK-LABEL: func.func @shares
// CHECK: train.reshape %{{.*}} : (tensor<2x6xf32>) -> tensor<12xf32>
// CHECK: train.mul %{{.*}} : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
func.func @shares(
    %x: tensor<2x6x8xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %unit: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6x8xf32>) {
  %0 = train.reshape %unit : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = train.mul %0, %0 : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  %2 = train.reshape %1 : (tensor<12xf32>) -> tensor<2x6xf32>
  %3 = train.neg %x : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %2, %3 : tensor<2x6xf32>, tensor<2x6x8xf32>
}

// Tests that dims of 1, as of a group of queries, may stand between samples and
// tokens.
// CHECK-LABEL: func.func @group
// CHECK: train.matmul %{{.*}} {transpose_lhs} : (tensor<4x6x8xf32>, tensor<4x6x5xf32>) -> tensor<8x5xf32>
// CHECK-NOT: tensor<24x
func.func @group(
    %x: tensor<4x6x8xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %g: tensor<4x1x6x5xf32> {train.input = "g", train.batch_dim = 0 : i64})
    -> tensor<8x5xf32> {
  %0 = train.reshape %x : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
  %1 = train.reshape %g : (tensor<4x1x6x5xf32>) -> tensor<24x5xf32>
  %2 = train.matmul %0, %1 {transpose_lhs} : (tensor<24x8xf32>, tensor<24x5xf32>) -> tensor<8x5xf32>
  return %2 : tensor<8x5xf32>
}

// Tests that rows of which each token has several are told apart by tokens, too,
// with the weights by which they are summed.
// CHECK-LABEL: func.func @experts
// CHECK-DAG: %[[EXPERTS:.*]] = train.reshape %{{.*}} : (tensor<16x6xf32>) -> tensor<2x4x2x6xf32>
// CHECK-DAG: train.broadcast %{{.*}} {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x4x2x1xf32>) -> tensor<2x4x2x6xf32>
// CHECK: %[[WEIGHED:.*]] = train.mul %[[EXPERTS]]
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[WEIGHED]] {dims = array<i64: 2>} : (tensor<2x4x2x6xf32>) -> tensor<2x4x6xf32>
// CHECK: %[[SAME:.*]] = train.reshape %[[SUM]]
// CHECK: train.add %{{.*}}, %[[SAME]]
func.func @experts(%x: tensor<2x4x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %w: tensor<6x2xf32>) -> tensor<2x4x6xf32> {
  %0 = train.reshape %x : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %1 = train.matmul %0, %w : (tensor<8x6xf32>, tensor<6x2xf32>) -> tensor<8x2xf32>
  %2 = train.reshape %0 : (tensor<8x6xf32>) -> tensor<8x1x6xf32>
  %3 = train.broadcast %2 {dims = array<i64: 0, 1, 2>} : (tensor<8x1x6xf32>) -> tensor<8x2x6xf32>
  %4 = train.reshape %3 : (tensor<8x2x6xf32>) -> tensor<16x6xf32>
  %5 = train.exp %4 : (tensor<16x6xf32>) -> tensor<16x6xf32>
  %6 = train.reshape %5 : (tensor<16x6xf32>) -> tensor<8x2x6xf32>
  %7 = train.reshape %1 : (tensor<8x2xf32>) -> tensor<8x2x1xf32>
  %8 = train.broadcast %7 {dims = array<i64: 0, 1, 2>} : (tensor<8x2x1xf32>) -> tensor<8x2x6xf32>
  %9 = train.mul %6, %8 : (tensor<8x2x6xf32>, tensor<8x2x6xf32>) -> tensor<8x2x6xf32>
  %10 = train.reduce "sum" %9 {dims = array<i64: 1>} : (tensor<8x2x6xf32>) -> tensor<8x6xf32>
  %11 = train.reshape %10 : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %12 = train.add %x, %11 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %12 : tensor<2x4x6xf32>
}
