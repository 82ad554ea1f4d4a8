// RUN: zc-opt %s --split-input-file --zc-build-loss | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-build-loss=mode=infer | FileCheck %s --check-prefix=INFER

// Tests that a classifier gets labels with a range, a mean over the labels that
// count, and sums for evaluation with a weight per sample.
train.state @w "parameter" : tensor<4x3xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<8xi64> {train.batch_dim = 0 : i64, train.input = "labels", train.label, train.range = array<i64: 0, 3, -100>}
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"})
// CHECK: %[[LOSS:.*]], %{{.*}} = train.softmax_cross_entropy
// CHECK: train.compare "ne"
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[LOSS]]
// CHECK: %[[MEAN:.*]] = train.div %[[SUM]]
// CHECK: return %[[MEAN]] : tensor<f32>
// CHECK-LABEL: func.func @eval
// CHECK-SAME: tensor<8xf32> {train.batch_dim = 0 : i64, train.input = "sample_weight", train.sample_weight}
// CHECK-SAME: train.output = "y"
// CHECK-SAME: train.metric = "loss_sum"
// CHECK-SAME: train.metric = "weight_sum"
// CHECK-SAME: train.metric = "correct_sum"
// CHECK-NOT: @forward
// INFER-NOT: @step
// INFER: func.func @eval
// INFER-NOT: labels
func.func @forward(%w: tensor<4x3xf32> {train.state = @w},
    %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<8x3xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// Tests that batch normalisation trains with the batch's statistics and returns
// the running ones, with the unbiased variance (8/7 of the biased one).
train.state @scale "parameter" : tensor<3xf32>
train.state @mean "statistic" : tensor<3xf32>
train.state @var "statistic" : tensor<3xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: train.metric = "loss"
// CHECK-SAME: {train.state = @mean}
// CHECK-SAME: {train.state = @var}
// CHECK: %{{.*}}, %[[MEAN:.*]], %[[VAR:.*]] = train.batch_norm_training
// CHECK: train.constant dense<1.142857
// CHECK: train.mul %[[VAR]]
// CHECK-LABEL: func.func @eval
// CHECK: train.batch_norm %
func.func @forward(%scale: tensor<3xf32> {train.state = @scale},
    %mean: tensor<3xf32> {train.state = @mean}, %var: tensor<3xf32> {train.state = @var},
    %x: tensor<8x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<8x3xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.batch_norm %x, %scale, %scale, %mean, %var
      {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, unbiased}
      : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
