// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-accumulate-gradients

// expected-error @+1 {{expected @step}}
module {
}

// -----

// expected-error @+1 {{expected a metric "loss"}}
func.func @step() {
  return
}

// -----

train.state @w "parameter" : tensor<4xf32>
// expected-error @+1 {{has the name that zc gives to a state of its own, 'accumulated.w'; rename it}}
train.state @accumulated.w "constant" : tensor<4xf32>
func.func @step(%l: tensor<f32> {train.input = "l"}, %x: tensor<4xf32> {train.input = "x"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf32> {train.gradient = @w}) {
  return %l, %x : tensor<f32>, tensor<4xf32>
}
