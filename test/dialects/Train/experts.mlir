// RUN: zc-opt %s | zc-opt | FileCheck %s
// Tests that products by experts print as they are read.

// CHECK-LABEL: @experts(
func.func @experts(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %dy: tensor<6x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi32>) {
  // CHECK: train.grouped_matmul %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi32>) -> tensor<6x5xf32>
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi32>) -> tensor<6x5xf32>
  // CHECK: train.grouped_matmul {{.*}} {experts = 6 : i64, transpose_weights}
  %1 = train.grouped_matmul %dy, %w, %groups, %ids {experts = 6 : i64, transpose_weights} : (tensor<6x5xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi32>) -> tensor<6x4xf32>
  // CHECK: train.grouped_matmul_grad {{.*}} {experts = 3 : i64} : (tensor<6x4xf32>, tensor<6x5xf32>, tensor<6xi64>, tensor<3xi32>) -> tensor<3x4x5xf32>
  %2 = train.grouped_matmul_grad %x, %dy, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<6x5xf32>, tensor<6xi64>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// Tests rows that have been sorted, and how they are.
// CHECK-LABEL: @sorted(
func.func @sorted(%x: tensor<2x6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<2x6xi64>, %used: tensor<3x4xi32>, %ids: tensor<3xi32>) {
  // CHECK: train.expert_slots %{{.*}} {capacity = 2 : i64, choices = 2 : i64, experts = 3 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x3xi32>)
  %slots, %rows, %counts = train.expert_slots %groups {experts = 3 : i64, capacity = 2 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x3xi32>)
  // CHECK: train.exchange_rows %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x6x4xf32>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
  %0 = train.exchange_rows %x, %rows, %slots : (tensor<2x6x4xf32>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
  %1 = train.reshape %0 : (tensor<2x6x4xf32>) -> tensor<3x4x4xf32>
  // CHECK: train.place_experts %{{.*}} {to_experts} : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %2 = train.place_experts %1 {to_experts} : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  // CHECK: train.grouped_matmul {{.*}} {experts = 3 : i64, filled = 5.000000e-01 : f64} : (tensor<3x4x4xf32>, tensor<3x4x5xf32>, tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  %3 = train.grouped_matmul %2, %w, %used, %ids {experts = 3 : i64, filled = 0.5 : f64} : (tensor<3x4x4xf32>, tensor<3x4x5xf32>, tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}
