// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests equations that do not fit their operands.
onnx.graph @main(%x: tensor<2x3xf32>, %y: tensor<4xf32>, %z: tensor<3xi64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xi64>)
    attributes {input_names = ["x", "y", "z"], output_names = ["o0", "o1", "o2", "o3", "o4"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{the dims of one letter of the equation 'ij,j->i' have sizes 3 and 4}}
  %0 = onnx.node "Einsum"(%x, %y) {since_version = 12 : i64, node_attributes = {equation = "ij,j->i"}}
    : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2xf32>
  // expected-error @+1 {{cannot read 'ijk' of the equation 'ijk->i' for an operand of 2 dims}}
  %1 = onnx.node "Einsum"(%x) {since_version = 12 : i64, node_attributes = {equation = "ijk->i"}}
    : (tensor<2x3xf32>) -> tensor<2xf32>
  // expected-error @+1 {{the equation 'ij->i' is of 1 operands, found 2}}
  %2 = onnx.node "Einsum"(%x, %y) {since_version = 12 : i64, node_attributes = {equation = "ij->i"}}
    : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2xf32>
  // expected-error @+1 {{expected the output 'k' of the equation to name letters of the operands, each once}}
  %3 = onnx.node "Einsum"(%x) {since_version = 12 : i64, node_attributes = {equation = "ij->k"}}
    : (tensor<2x3xf32>) -> tensor<2xf32>
  // expected-error @+1 {{expected}}
  %4 = onnx.node "Einsum"(%z) {since_version = 12 : i64, node_attributes = {equation = "i->i"}}
    : (tensor<3xi64>) -> tensor<3xi64>
  onnx.return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xi64>
}
