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
