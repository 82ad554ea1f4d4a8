// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-build-backward

// expected-error @+1 {{expected @step with a metric "loss"}}
module {
}

// -----

// expected-error @+1 {{no parameter is left to train}}
func.func @step(%x: tensor<f32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  return %x : tensor<f32>
}

// -----

train.state @w "parameter" : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {train.state = @w}) -> (tensor<f32> {train.metric = "loss"}) {
  // expected-error @+1 {{has no gradient: products are reduced only in values that no parameter reaches}}
  %0 = train.reduce "prod" %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

train.state @w "parameter" : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {train.state = @w}) -> (tensor<f32> {train.metric = "loss"}) {
  // expected-error @+1 {{'train.gelu_grad' has no gradient, but a parameter reaches it; freeze the parameters before it with --freeze}}
  %0 = train.gelu_grad %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
