// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests draws that are no zeros and ones of one probability, and extremes of
// too few elements.
onnx.graph @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<5xf32>)
    attributes {input_names = ["x"], output_names = ["o0", "o1", "o2", "o3"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{draws numbers that are used other than in a comparison}}
  %0 = onnx.node "RandomUniformLike"(%x) {since_version = 22 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %u = onnx.node "RandomUniformLike"(%x) {since_version = 22 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{draws with a probability of type 'tensor<4xf32>' that is not one number known at compile time}}
  %1 = onnx.node "Less"(%u, %x) {since_version = 13 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // expected-error @+1 {{draws with a probability of type 'tensor<4xf32>'}}
  %2 = onnx.node "Bernoulli"(%x) {since_version = 22 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %k = onnx.initializer @k {value = dense<5> : tensor<1xi64>} : tensor<1xi64>
  // expected-error @+1 {{takes the 5 extremes of 4; zc takes 1 to 64}}
  %3:2 = onnx.node "TopK"(%x, %k) {since_version = 11 : i64} : (tensor<4xf32>, tensor<1xi64>) -> (tensor<5xf32>, tensor<5xi64>)
  onnx.return %0, %1, %2, %3#0 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<5xf32>
}
