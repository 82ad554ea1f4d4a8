// RUN: zc-opt %s --zc-build-optimizer-step=optimizer=sgd | FileCheck %s

// Tests that a scale without a count of steps stays as it is, and that a step
// whose gradients are not finite is skipped all the same.
train.state @w "parameter" : tensor<4xf32>
train.state @w.fp16 "copy" : tensor<4xf16> {parameter = "w"}
train.state @loss_scale "scalar" : tensor<f32> {draw = {constant = 8.0 : f64}}
// CHECK-LABEL: func.func @step
// CHECK-NOT: train.metric = "loss_scale"
// CHECK-SAME: {train.metric = "skipped"}
// CHECK-NOT: train.metric = "loss_scale"
// CHECK: %[[FINITE:.*]] = train.compare "lt"
// CHECK: train.broadcast %[[FINITE]]
// CHECK: train.select
func.func @step(%w: tensor<4xf16> {train.state = @w.fp16}, %scale: tensor<f32> {train.state = @loss_scale})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf16> {train.gradient = @w}) {
  %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xf16>) -> tensor<f32>
  return %0, %w : tensor<f32>, tensor<4xf16>
}
