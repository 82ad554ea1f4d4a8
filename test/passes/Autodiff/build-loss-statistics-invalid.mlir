// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-build-loss="loss=none statistics-shares=2"

// Tests values that are of all samples.
func.func @forward(%s: tensor<2xf32> {train.input = "s"},
                   %x: tensor<4x2x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.softmax %x {dim = 0 : i64} : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  // expected-error @+1 {{normalises values in which no dim counts samples, so that no rank has statistics of its own; use --batchnorm-stats global}}
  %1:3 = train.batch_norm_training %0, %s, %s {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  %2 = train.reduce "sum" %1#0 {dims = array<i64: 0, 1, 2>} : (tensor<4x2x3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Tests a batch that does not divide.
func.func @forward(%s: tensor<2xf32> {train.input = "s"},
                   %x: tensor<3x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{normalises 3 samples, which do not divide into 2 shares}}
  %1:3 = train.batch_norm_training %x, %s, %s {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %2 = train.reduce "sum" %1#0 {dims = array<i64: 0, 1>} : (tensor<3x2xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Tests samples in groups, as frames of videos, whose number does not divide.
func.func @forward(%s: tensor<2xf32> {train.input = "s"},
                   %x: tensor<6x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reshape %x : (tensor<6x2xf32>) -> tensor<3x2x2xf32>
  %1 = train.mul %0, %0 : (tensor<3x2x2xf32>, tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  // expected-error @+1 {{normalises 3 groups of 2 samples each, which do not divide into 2 shares}}
  %2:3 = train.batch_norm_training %1, %s, %s {channel_dim = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %3 = train.reduce "sum" %2#0 {dims = array<i64: 0, 1, 2>} : (tensor<3x2x2xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
