// RUN: zc-opt %s --zc-spread-expert-slots | FileCheck %s
// Tests that rows get their places by running sums of one-hot numbers, first
// choices before second ones, and that the inverse is written once a place.

// CHECK-LABEL: func.func @slots
// CHECK-NOT: train.expert_slots
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x2xi32>) -> tensor<2x2x3xi32>
// CHECK: train.compare "eq" {{.*}} -> tensor<2x6x4xi1>
// CHECK-COUNT-3: train.pad
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 2>} : (tensor<2x6x4xi32>) -> tensor<2x6xi32>
// CHECK: train.scatter_reduce "last" %{{.*}} {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<2x13xi32>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x13xi32>
func.func @slots(%groups: tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x12xi32>, tensor<2x4xi32>) {
  %slots, %rows, %counts = train.expert_slots %groups {experts = 4 : i64, capacity = 3 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x12xi32>, tensor<2x4xi32>)
  return %slots, %rows, %counts : tensor<2x6xi32>, tensor<2x12xi32>, tensor<2x4xi32>
}

// Tests that too many counts are not made.
// CHECK-LABEL: func.func @many
// CHECK: train.expert_slots
func.func @many(%groups: tensor<16x16384xi64>) -> (tensor<16x16384xi32>, tensor<16x256xi32>, tensor<16x128xi32>) {
  %slots, %rows, %counts = train.expert_slots %groups {experts = 128 : i64, capacity = 2 : i64, choices = 2 : i64} : (tensor<16x16384xi64>) -> (tensor<16x16384xi32>, tensor<16x256xi32>, tensor<16x128xi32>)
  return %slots, %rows, %counts : tensor<16x16384xi32>, tensor<16x256xi32>, tensor<16x128xi32>
}
