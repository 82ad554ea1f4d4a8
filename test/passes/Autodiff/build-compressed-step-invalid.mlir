// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-build-optimizer-step=optimizer=onebit-adam --zc-build-compressed-step=axes=dp

// Tests that there is a program that ends steps.
module {
  train.state @w "parameter" : tensor<4xf32>
  // expected-error @+1 {{expected @apply, as --zc-accumulate-gradients makes it}}
  func.func @step(%w: tensor<4xf32> {train.state = @w}) -> (tensor<4xf32> {train.gradient = @w}) {
    return %w : tensor<4xf32>
  }
}

// -----

// Tests that no weight has the name of what is kept.
module {
  train.state @w "parameter" : tensor<4xf32>
  // expected-error @+1 {{state.w.worker_error}}
  train.state @state.w.worker_error "constant" : tensor<4xf32>
  func.func @apply(%w: tensor<4xf32> {train.state = @w}) -> (tensor<4xf32> {train.gradient = @w}) {
    return %w : tensor<4xf32>
  }
}

// -----

// Tests that ranks with samples of their own have whole parameters, or shares.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  // expected-error @+1 {{parameter 'w' is divided as #dist.sharding<dp>}}
  train.state @w "parameter" : tensor<4xf32> {dist.sharding = #dist.sharding<dp>}
  func.func @apply(%w: tensor<4xf32> {train.state = @w}) -> (tensor<4xf32> {train.gradient = @w}) {
    return %w : tensor<4xf32>
  }
}
