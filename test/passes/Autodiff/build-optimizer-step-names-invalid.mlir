// RUN: zc-opt %s --verify-diagnostics --split-input-file --zc-build-optimizer-step="optimizer=sgd momentum=0.9"
// RUN: zc-opt %s --verify-diagnostics --split-input-file --zc-build-optimizer-step="optimizer=sgd momentum=0.9 settings-at-run-time=1"

// Tests that no state of the model is taken for one of the optimizer.
module {
  // expected-error @+1 {{has the name that zc gives to a state of its own, 'lr'; rename it}}
  train.state @lr "constant" : tensor<2xf32>
  func.func @step() {
    return
  }
}

// -----

module {
  train.state @w "parameter" : tensor<2xf32>
  // expected-error @+1 {{'state.w.momentum_buffer'}}
  train.state @state.w.momentum_buffer "constant" : tensor<2xf32>
  func.func @step(%w: tensor<2xf32> {train.state = @w}) -> (tensor<2xf32> {train.gradient = @w}) {
    return %w : tensor<2xf32>
  }
}
