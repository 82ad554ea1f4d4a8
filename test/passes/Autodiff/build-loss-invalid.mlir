// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-build-loss

// expected-error @+1 {{the model has an input named 'labels', the name of the loss's labels; choose another with --labels}}
func.func @forward(%labels: tensor<8x4xf32> {train.input = "labels"})
    -> (tensor<8x4xf32> {train.output = "y"}) {
  return %labels : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{needs logits of at least 2 dims}}
func.func @forward(%x: tensor<8xf32> {train.input = "x"})
    -> (tensor<8xf32> {train.output = "y"}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected a function @forward}}
module {
}

// -----

func.func @forward(%x: tensor<8x3xf32> {train.input = "x"}, %s: tensor<3xf32> {train.input = "s"})
    -> (tensor<8x3xf32> {train.output = "y"}) {
  // expected-error @+1 {{running statistics are not initializers of the model; use --batchnorm frozen}}
  %0 = train.batch_norm %x, %s, %s, %s, %s
      {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
