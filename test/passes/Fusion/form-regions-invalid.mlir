// RUN: zc-opt %s --zc-form-regions --split-input-file --verify-diagnostics

// Tests that an op without a linalg form is refused before it gets a region.
func.func @add(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{cannot become a kernel: expected an op of the train dialect, found 'arith.addf'}}
  %1 = arith.addf %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Tests that no program after a good one is missed, nor one that is only declared met.
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected an op of the train dialect, found 'func.call'}}
  %0 = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
