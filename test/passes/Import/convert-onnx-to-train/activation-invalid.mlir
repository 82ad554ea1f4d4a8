// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests activations with operands or attributes that mean nothing.
onnx.graph @main(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>, %x2: tensor<3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    attributes {input_names = ["x0", "x1", "x2"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (Clip): expected input 1 to hold one element, found 'tensor<2xf32>'}}
  %o0 = onnx.node "Clip"(%x0, %x1) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (PRelu): cannot broadcast 'tensor<2x3xf32>' and 'tensor<2xf32>' to one shape}}
  %o1 = onnx.node "PRelu"(%x0, %x1) {since_version = 16 : i64}
    : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Elu): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o2 = onnx.node "Elu"(%x2) {since_version = 22 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (Gelu): expected approximate to be 'none' or 'tanh', found 'exact'}}
  %o3 = onnx.node "Gelu"(%x0) {since_version = 20 : i64, node_attributes = {approximate = "exact"}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Softmax): axis is outside 'tensor<2x3xf32>'}}
  %o4 = onnx.node "Softmax"(%x0) {since_version = 11 : i64, node_attributes = {axis = 3 : i64}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Hardmax): axis -3 is no dim of a tensor of 2 dims}}
  %o5 = onnx.node "Hardmax"(%x0) {since_version = 13 : i64, node_attributes = {axis = -3 : i64}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
