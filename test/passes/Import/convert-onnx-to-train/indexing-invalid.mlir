// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests indices of another type or depth, and matrices without two dims.
onnx.graph @main(%x0: tensor<4x4xf32>, %x1: tensor<3xf32>, %x2: tensor<3xui8>, %x3: tensor<4x4xi64>, %x4: tensor<2x3xi64>, %x5: tensor<4xi64>) -> (tensor<3x4xf32>, tensor<f32>, tensor<4x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>)
    attributes {input_names = ["x0", "x1", "x2", "x3", "x4", "x5"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<3> : tensor<i64>} : tensor<i64>
  %c1 = onnx.initializer @c1 {value = dense<[0.0, 1.0]> : tensor<2xf32>} : tensor<2xf32>
  %c2 = onnx.initializer @c2 {value = dense<1.0> : tensor<f32>} : tensor<f32>
  // expected-error @+1 {{node (Gather): expected input 1 to hold signed integers, found 'tensor<3xf32>'}}
  %o0 = onnx.node "Gather"(%x0, %x1) {since_version = 13 : i64}
    : (tensor<4x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  // expected-error @+1 {{node (GatherND): expected input 1 to hold signed integers, found 'tensor<3xui8>'}}
  %o1 = onnx.node "GatherND"(%x0, %x2) {since_version = 13 : i64}
    : (tensor<4x4xf32>, tensor<3xui8>) -> tensor<f32>
  // expected-error @+1 {{node (GatherElements): axis 2 is no dim of a tensor of 2 dims}}
  %o2 = onnx.node "GatherElements"(%x0, %x3) {since_version = 13 : i64, node_attributes = {axis = 2 : i64}}
    : (tensor<4x4xf32>, tensor<4x4xi64>) -> tensor<4x4xf32>
  // expected-error @+1 {{node (GatherND): cannot index 'tensor<4x4xf32>' with 'tensor<2x3xi64>'}}
  %o3 = onnx.node "GatherND"(%x0, %x4) {since_version = 13 : i64}
    : (tensor<4x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  // expected-error @+1 {{node (OneHot): axis 2 is no dim of a tensor of 2 dims}}
  %o4 = onnx.node "OneHot"(%x5, %c0, %c1) {since_version = 11 : i64, node_attributes = {axis = 2 : i64}}
    : (tensor<4xi64>, tensor<i64>, tensor<2xf32>) -> tensor<4x3xf32>
  // expected-error @+1 {{node (OneHot): expected input 2 ('values') to hold two elements, found 'tensor<f32>'}}
  %o5 = onnx.node "OneHot"(%x5, %c0, %c2) {since_version = 11 : i64}
    : (tensor<4xi64>, tensor<i64>, tensor<f32>) -> tensor<4x3xf32>
  // expected-error @+1 {{node (Trilu): expected an input of at least 2 dims}}
  %o6 = onnx.node "Trilu"(%x1) {since_version = 14 : i64}
    : (tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6 : tensor<3x4xf32>, tensor<f32>, tensor<4x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>
}
