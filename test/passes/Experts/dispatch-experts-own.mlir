// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{own-rooms})' | FileCheck %s --check-prefixes=CHECK,OWN
// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{capacity=1})' | FileCheck %s --check-prefixes=CHECK,ASKED
// Tests rooms that the model's file has: two groups with room for 3 rows of an
// expert, unless others are asked for; other layers have none by themselves.

// CHECK-LABEL: func.func @forward
// OWN: train.expert_slots %{{.*}} {capacity = 3 : i64, choices = 1 : i64, experts = 2 : i64} : (tensor<2x4xi64>)
// ASKED: train.expert_slots %{{.*}} {capacity = 4 : i64, choices = 1 : i64, experts = 2 : i64} : (tensor<1x8xi64>)
// CHECK: train.matmul
// OWN: train.grouped_matmul %{{.*}} : (tensor<8x5xf32>
// ASKED: train.expert_slots
// ASKED: train.matmul
func.func @forward(%w: tensor<2x5x6xf32>, %x: tensor<8x5xf32>, %a: tensor<8xi64>, %b: tensor<8xi64>, %ids: tensor<2xi64>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = train.grouped_matmul %x, %w, %a, %ids {experts = 2 : i64, room_groups = 2 : i64, room_capacity = 3 : i64} : (tensor<8x5xf32>, tensor<2x5x6xf32>, tensor<8xi64>, tensor<2xi64>) -> tensor<8x6xf32>
  %1 = train.grouped_matmul %x, %w, %b, %ids {experts = 2 : i64} : (tensor<8x5xf32>, tensor<2x5x6xf32>, tensor<8xi64>, tensor<2xi64>) -> tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}
