// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests scales that do not fit, and what zc does not compute.
onnx.graph @main(%x0: tensor<1x1x4xi64>, %x1: tensor<1x1x4xf32>, %x2: tensor<3xf32>, %x3: tensor<1x1x0xf32>) -> (tensor<1x1x4xi64>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x4xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>)
    attributes {input_names = ["x0", "x1", "x2", "x3"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o10"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %none = onnx.none : none
  %c1 = onnx.initializer @c1 {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32>
  %c2 = onnx.initializer @c2 {value = dense<2.0> : tensor<2xf32>} : tensor<2xf32>
  %c3 = onnx.initializer @c3 {value = dense<2.0> : tensor<1xf32>} : tensor<1xf32>
  %c4 = onnx.initializer @c4 {value = dense<[1.0, 1.0, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %c5 = onnx.initializer @c5 {value = dense<[1, 1, 4]> : tensor<3xi64>} : tensor<3xi64>
  %c6 = onnx.initializer @c6 {value = dense<[1.0, 1.0, 0.0]> : tensor<3xf32>} : tensor<3xf32>
  %c8 = onnx.initializer @c8 {value = dense<8> : tensor<2xi64>} : tensor<2xi64>
  // expected-error @+1 {{node (Resize): expected input 0 to be a floating-point tensor, found 'tensor<1x1x4xi64>'}}
  %o0 = onnx.node "Resize"(%x0, %none, %c1) {since_version = 19 : i64, node_attributes = {mode = "linear"}}
    : (tensor<1x1x4xi64>, none, tensor<3xf32>) -> tensor<1x1x4xi64>
  // expected-error @+1 {{node (Resize): expected 3 scales, found 'tensor<2xf32>'}}
  %o1 = onnx.node "Resize"(%x1, %none, %c2) {since_version = 19 : i64}
    : (tensor<1x1x4xf32>, none, tensor<2xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): expected input 2 ('scales') to be a constant, found a value computed at run time}}
  %o2 = onnx.node "Resize"(%x1, %none, %x2) {since_version = 19 : i64}
    : (tensor<1x1x4xf32>, none, tensor<3xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): axis 3 is no dim of a tensor of 3 dims}}
  %o3 = onnx.node "Resize"(%x1, %none, %c3) {since_version = 19 : i64, node_attributes = {axes = array<i64: 3>}}
    : (tensor<1x1x4xf32>, none, tensor<1xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): expected the input roi, which says where to crop}}
  %o4 = onnx.node "Resize"(%x1, %none, %c4) {since_version = 19 : i64, node_attributes = {coordinate_transformation_mode = "tf_crop_and_resize"}}
    : (tensor<1x1x4xf32>, none, tensor<3xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): expected mode to be 'nearest', 'linear' or 'cubic', found 'lanczos'}}
  %o5 = onnx.node "Resize"(%x1, %none, %c4) {since_version = 19 : i64, node_attributes = {mode = "lanczos"}}
    : (tensor<1x1x4xf32>, none, tensor<3xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): cannot resize 'tensor<1x1x0xf32>' to 'tensor<1x1x4xf32>'}}
  %o6 = onnx.node "Resize"(%x3, %none, %none, %c5) {since_version = 19 : i64}
    : (tensor<1x1x0xf32>, none, none, tensor<3xi64>) -> tensor<1x1x4xf32>
  // expected-error @+1 {{node (Resize): cannot resize 'tensor<1x1x4xf32>' to 'tensor<1x4xf32>'}}
  %o7 = onnx.node "Resize"(%x1, %none, %none, %c5) {since_version = 19 : i64}
    : (tensor<1x1x4xf32>, none, none, tensor<3xi64>) -> tensor<1x4xf32>
  // expected-error @+1 {{node (Resize): expected positive scales, found 0.000000e+00}}
  %o8 = onnx.node "Resize"(%x1, %none, %c6) {since_version = 19 : i64}
    : (tensor<1x1x4xf32>, none, tensor<3xf32>) -> tensor<1x1x8xf32>
  // expected-error @+1 {{node (Resize): expected 1 sizes, found 2}}
  %o10 = onnx.node "Resize"(%x1, %none, %none, %c8) {since_version = 19 : i64, node_attributes = {axes = array<i64: 2>, keep_aspect_ratio_policy = "not_larger"}}
    : (tensor<1x1x4xf32>, none, none, tensor<2xi64>) -> tensor<1x1x8xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7, %o8, %o10 : tensor<1x1x4xi64>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x4xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>
}
