// RUN: zc-opt %s --zc-accumulate-gradients | FileCheck %s

// Tests that micro-batches add up what the update takes, means are made of sums,
// and what other results there are stay with the micro-batch.
// CHECK-DAG: train.state @accumulated.loss "accumulator" : tensor<f32>
// CHECK-DAG: train.state @accumulated.loss_count "accumulator" : tensor<f32>
// CHECK-DAG: train.state @accumulated.w "accumulator" : tensor<4xf32>
train.state @w "parameter" : tensor<4xf32>
train.state @mean "statistic" : tensor<4xf32>
// CHECK-LABEL: func.func @micro
// CHECK-SAME: tensor<4xf32> {train.state = @mean}
// CHECK-NOT: train.metric
// CHECK-NOT: train.gradient
// CHECK: train.add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @apply
// CHECK-SAME: {train.metric = "loss"}
// CHECK-SAME: {train.gradient = @w}
// CHECK: %[[FACTOR:.*]] = train.div
// CHECK: train.mul %{{.*}}, %[[FACTOR]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[SPREAD:.*]] = train.broadcast %[[FACTOR]]
// CHECK: train.mul %{{.*}}, %[[SPREAD]]
func.func @step(%w: tensor<4xf32> {train.state = @w}, %x: tensor<4xf32> {train.input = "x"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "loss_count"},
        tensor<4xf32> {train.state = @mean}, tensor<4xf32> {train.gradient = @w}) {
  %0 = train.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %2 = train.constant dense<4.0> : tensor<f32>
  return %1, %2, %0, %x : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
