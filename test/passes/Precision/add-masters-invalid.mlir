// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-add-masters

// expected-error @below {{expected @step}}
module {
}

// -----

// Tests that a tensor of the model may not have a copy's name.
module {
  train.state @w "parameter" : tensor<4xbf16>
  // expected-error @below {{has the name that zc gives to a state of its own, 'w.bf16'; rename it}}
  train.state @w.bf16 "constant" : tensor<4xbf16>
  func.func @step(%w: tensor<4xbf16> {train.state = @w}) -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xbf16>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
