// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests inputs without spatial dims, and windows of no size.
onnx.graph @main(%x0: tensor<2x4xf32>, %x1: tensor<1x2x4xf32>) -> (tensor<2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2xf32>, tensor<1x2x3xf32>, tensor<1x2x1xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    attributes {input_names = ["x0", "x1"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (MaxPool): expected an input of 3 to 5 dims (N, C and up to three spatial ones), found 2}}
  %o0 = onnx.node "MaxPool"(%x0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>}}
    : (tensor<2x4xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (LpPool): expected positive kernel sizes, strides and dilations}}
  %o1 = onnx.node "LpPool"(%x1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 0>}}
    : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  // expected-error @+1 {{node (AveragePool): expected pads to have 2 entries, found 1}}
  %o2 = onnx.node "AveragePool"(%x1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, pads = array<i64: 1>}}
    : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  // expected-error @+1 {{node (AveragePool): expected a result of 3 dims, found 'tensor<1x2xf32>'}}
  %o3 = onnx.node "AveragePool"(%x1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>}}
    : (tensor<1x2x4xf32>) -> tensor<1x2xf32>
  // expected-error @+1 {{node (LpPool): expected a positive p, found 0}}
  %o4 = onnx.node "LpPool"(%x1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, p = 0 : i64}}
    : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  // expected-error @+1 {{node (GlobalLpPool): expected a positive p, found -1}}
  %o5 = onnx.node "GlobalLpPool"(%x1) {since_version = 22 : i64, node_attributes = {p = -1 : i64}}
    : (tensor<1x2x4xf32>) -> tensor<1x2x1xf32>
  // expected-error @+1 {{node (GlobalAveragePool): expected an input of at least 3 dims, found 'tensor<2x4xf32>'}}
  %o6 = onnx.node "GlobalAveragePool"(%x0) {since_version = 22 : i64}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (GlobalMaxPool): expected an input of at least 3 dims, found 'tensor<2x4xf32>'}}
  %o7 = onnx.node "GlobalMaxPool"(%x0) {since_version = 22 : i64}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (GlobalLpPool): expected an input of at least 3 dims, found 'tensor<2x4xf32>'}}
  %o8 = onnx.node "GlobalLpPool"(%x0) {since_version = 22 : i64}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7, %o8 : tensor<2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2xf32>, tensor<1x2x3xf32>, tensor<1x2x1xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
