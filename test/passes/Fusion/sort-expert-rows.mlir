// RUN: zc-opt %s --zc-sort-expert-rows | FileCheck %s
// Tests that the products by the same groups read one order of their rows.

// CHECK-LABEL: func.func @rows
// CHECK: train.compare "eq" {{.*}} : (tensor<3x6xi32>, tensor<3x6xi32>) -> tensor<3x6xi1>
// CHECK: train.reduce "sum" {{.*}} -> tensor<3xi32>
// CHECK: %[[ENDS:.*]] = train.reduce "sum" {{.*}} : (tensor<3x3xi32>) -> tensor<3xi32>
// CHECK: %[[ORDER:.*]] = train.expert_order %{{.*}}, %{{.*}}, %[[ENDS]] : (tensor<6xi64>, tensor<3xi64>, tensor<3xi32>) -> tensor<6xi32>
// CHECK: train.grouped_matmul %{{.*}}, %[[ORDER]], %[[ENDS]] {experts = 3 : i64}
// CHECK-NOT: train.expert_order
// CHECK: train.grouped_matmul_grad %{{.*}}, %[[ORDER]], %[[ENDS]] {experts = 3 : i64}
func.func @rows(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) -> tensor<3x4x5xf32> {
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x5xf32>
  %1 = train.grouped_matmul_grad %x, %0, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<6x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}

// Tests rooms, whose places are of the expert that dim 0 counts.
// CHECK-LABEL: func.func @rooms
// CHECK: train.compare "eq" {{.*}} : (tensor<3x2xi32>, tensor<3x2xi32>)
// CHECK: train.expert_order {{.*}} : (tensor<3x2xi32>, tensor<3xi64>, tensor<3xi32>) -> tensor<6xi32>
func.func @rooms(%x: tensor<3x2x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<3x2xi32>, %ids: tensor<3xi64>) -> tensor<3x2x5xf32> {
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64, filled = 0.5 : f64} : (tensor<3x2x4xf32>, tensor<3x4x5xf32>, tensor<3x2xi32>, tensor<3xi64>) -> tensor<3x2x5xf32>
  return %0 : tensor<3x2x5xf32>
}
