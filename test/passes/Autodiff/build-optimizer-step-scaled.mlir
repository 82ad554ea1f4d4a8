// RUN: zc-opt %s --zc-build-optimizer-step=optimizer=sgd | FileCheck %s

// Tests that gradients of a scaled loss are divided by the scale, and that where
// one is not finite everything keeps its old value and the scale is halved.
train.state @w "parameter" : tensor<4xf32>
train.state @w.fp16 "copy" : tensor<4xf16> {parameter = "w"}
train.state @loss_scale "scalar" : tensor<f32> {draw = {constant = 65536.0 : f64}}
train.state @loss_scale.good_steps "scalar" : tensor<i64>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W16:.*]]: tensor<4xf16> {train.state = @w.fp16}
// CHECK-SAME: %[[SCALE:[^:]*]]: tensor<f32> {train.state = @loss_scale}
// CHECK-SAME: {train.metric = "loss_scale"}
// CHECK-SAME: {train.metric = "skipped"}
// CHECK: %[[NEXT:.*]] = train.add %[[COUNT:.*]], %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: train.div %{{.*}}, %[[SCALE]]
// CHECK: train.reduce "sum_square" %{{.*}} : (tensor<1x4xf16>) -> tensor<1xf32>
// CHECK: %[[NORM:.*]] = train.sqrt
// CHECK: %[[FINITE:.*]] = train.compare "lt" %[[NORM]], %{{.*}}
// CHECK: train.compare "ge" %{{.*}}, %{{.*}}
// CHECK: train.select %[[FINITE]], %[[NEXT]], %[[COUNT]]
// CHECK: %[[NEW:.*]] = train.sub
// CHECK: %[[EACH:.*]] = train.broadcast %[[FINITE]]
// CHECK: %[[CHOSEN:.*]] = train.select %[[EACH]], %[[NEW]], %{{.*}}
// CHECK: train.convert %[[CHOSEN]] {rounds_result} : (tensor<4xf32>) -> tensor<4xf16>
func.func @step(%w: tensor<4xf16> {train.state = @w.fp16}, %scale: tensor<f32> {train.state = @loss_scale})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf16> {train.gradient = @w}) {
  %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xf16>) -> tensor<f32>
  return %0, %w : tensor<f32>, tensor<4xf16>
}
