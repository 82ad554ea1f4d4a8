// RUN: zc-opt %s --split-input-file --zc-build-loss="loss=none statistics-shares=2" | FileCheck %s

// Tests that each half of the samples has its own mean and variance, and that
// the first half's are blended into the running ones, with the unbiased
// variance of half of the elements: 6 of a channel, 6/5 = 1.2.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x2x3xf32> {train.batch_dim
// CHECK: %[[DIVIDED:.*]] = train.reshape %[[X]] : (tensor<4x2x3xf32>) -> tensor<2x2x2x3xf32>
// CHECK: %[[MOVED:.*]] = train.transpose %[[DIVIDED]] {permutation = array<i64: 1, 0, 2, 3>}
// CHECK: %[[INPUT:.*]] = train.reshape %[[MOVED]] : (tensor<2x2x2x3xf32>) -> tensor<2x4x3xf32>
// CHECK: train.batch_norm_training %[[INPUT]], {{.*}} -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: train.slice {{.*}} {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK: train.constant dense<1.200000e+00> : tensor<2xf32>
// CHECK: return {{.*}} : tensor<f32>, tensor<2xf32>, tensor<2xf32>
// CHECK-LABEL: func.func @eval
// CHECK: train.batch_norm %
train.state @scale "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
train.state @mean "statistic" : tensor<2xf32> {source = {file = "w", offset = 8 : i64, length = 8 : i64}}
train.state @var "statistic" : tensor<2xf32> {source = {file = "w", offset = 16 : i64, length = 8 : i64}}
func.func @forward(%s: tensor<2xf32> {train.state = @scale}, %m: tensor<2xf32> {train.state = @mean}, %v: tensor<2xf32> {train.state = @var},
                   %x: tensor<4x2x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.batch_norm %x, %s, %s, %m, %v {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, unbiased} : (tensor<4x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2x3xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0, 1, 2>} : (tensor<4x2x3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests samples that are the faster part of the dim, 3 rows of 4 samples, and
// values that no sample makes.
// CHECK-LABEL: func.func @step
// CHECK: train.reshape %{{.*}} : (tensor<3x4x2xf32>) -> tensor<3x2x2x2xf32>
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: train.reshape %{{.*}} -> tensor<6x4xf32>
// CHECK: train.batch_norm_training {{.*}} -> (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: train.batch_norm_training {{.*}} -> (tensor<5x2xf32>, tensor<2xf32>, tensor<2xf32>)
train.state @scale "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
train.state @table "parameter" : tensor<5x2xf32> {source = {file = "w", offset = 8 : i64, length = 40 : i64}}
func.func @forward(%s: tensor<2xf32> {train.state = @scale}, %t: tensor<5x2xf32> {train.state = @table},
                   %x: tensor<3x4x2xf32> {train.input = "x", train.batch_dim = 1 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reshape %x : (tensor<3x4x2xf32>) -> tensor<12x2xf32>
  %1:3 = train.batch_norm_training %0, %s, %s {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<12x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<12x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %2 = train.reduce "sum" %1#0 {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %3:3 = train.batch_norm_training %t, %s, %s {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<5x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<5x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %4 = train.reduce "sum" %3#0 {dims = array<i64: 0, 1>} : (tensor<5x2xf32>) -> tensor<f32>
  %5 = train.add %2, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}

// -----

// Tests samples that are frames of videos: a share is of whole videos.
// CHECK-LABEL: func.func @step
// CHECK: train.reshape %{{.*}} : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
// CHECK: %[[SQUARES:.*]] = train.mul {{.*}}tensor<2x4x2xf32>
// CHECK: train.transpose %[[SQUARES]] {permutation = array<i64: 1, 0, 2>}
// CHECK: train.batch_norm_training {{.*}} -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
train.state @scale "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
func.func @forward(%s: tensor<2xf32> {train.state = @scale},
                   %x: tensor<8x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reshape %x : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
  %1 = train.mul %0, %0 : (tensor<2x4x2xf32>, tensor<2x4x2xf32>) -> tensor<2x4x2xf32>
  %2 = train.reshape %1 : (tensor<2x4x2xf32>) -> tensor<8x2xf32>
  %3:3 = train.batch_norm_training %2, %s, %s {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<8x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %4 = train.reduce "sum" %3#0 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}
