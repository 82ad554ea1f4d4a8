// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-apply-precision

// expected-error @+1 {{expected @step and a type bf16 or fp16, found 'bf16'}}
module {
}

// -----

train.state @w "parameter" : tensor<4xf32>
// expected-error @+1 {{has the name that zc gives to a state of its own, 'w.bf16'; rename it}}
train.state @w.bf16 "constant" : tensor<4xf32>
func.func @step(%w: tensor<4xf32> {train.state = @w}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
