// RUN: zc-opt %s --zc-share-count | FileCheck %s

// Tests that each role learns from the last one how many losses there are, in
// messages that have numbers of their own, and returns it as its own metric.

!x = tensor<8x4xf32>

module {
// CHECK-LABEL: module @role0
module @role0 attributes {train.role = 0 : i64} {
// CHECK: func.func @step(
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: tensor<f32> {train.receive = {gradient, id = 4 : i64, peer = 2 : i64}})
// CHECK-SAME: tensor<f32> {train.metric = "loss_count"}
// CHECK: return {{.*}}, %[[COUNT]] : tensor<8x4xf32>, tensor<f32>
func.func @step(%x: !x {train.input = "x"})
    -> (!x {train.send = {answered, id = 0 : i64, peer = 1 : i64}}) {
  return %x : !x
}
}
// CHECK-LABEL: module @role1
module @role1 attributes {train.role = 1 : i64} {
// CHECK: func.func @step(
// CHECK-SAME: train.receive = {gradient, id = 6 : i64, peer = 2 : i64}
func.func @step(%x: !x {train.receive = {answered, id = 0 : i64, peer = 0 : i64}})
    -> (!x {train.send = {answered, id = 2 : i64, peer = 2 : i64}}) {
  return %x : !x
}
}
// CHECK-LABEL: module @role2
module @role2 attributes {train.role = 2 : i64} {
// CHECK: func.func @step(
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "loss_count"}, tensor<f32> {train.send = {gradient, id = 4 : i64, peer = 0 : i64}}, tensor<f32> {train.send = {gradient, id = 6 : i64, peer = 1 : i64}})
// CHECK: return %{{.*}}, %[[N:.*]], %[[N]], %[[N]] :
func.func @step(%x: !x {train.receive = {answered, id = 2 : i64, peer = 1 : i64}},
    %loss: tensor<f32> {train.input = "loss"}, %count: tensor<f32> {train.input = "count"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "loss_count"}) {
  return %loss, %count : tensor<f32>, tensor<f32>
}
}
}
