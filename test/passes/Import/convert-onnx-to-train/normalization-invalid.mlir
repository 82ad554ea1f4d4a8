// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests scales that do not fit, inputs without channels, and attributes out of range.
onnx.graph @main(%x0: tensor<2x4xf32>, %x1: tensor<3xf32>, %x2: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    attributes {input_names = ["x0", "x1", "x2"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (LayerNormalization): cannot broadcast input 1, a 'tensor<3xf32>', to the normalised dims 'tensor<4xf32>'}}
  %o0 = onnx.node "LayerNormalization"(%x0, %x1) {since_version = 17 : i64}
    : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (RMSNormalization): cannot broadcast input 1, a 'tensor<3xf32>', to the normalised dims 'tensor<4xf32>'}}
  %o1 = onnx.node "RMSNormalization"(%x0, %x1) {since_version = 23 : i64}
    : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (BatchNormalization): expected an input of at least 2 dims, found 'tensor<4xf32>'}}
  %o2 = onnx.node "BatchNormalization"(%x2, %x2, %x2, %x2, %x2) {since_version = 15 : i64}
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{node (BatchNormalization): expected input 1 to have 4 elements, one per channel}}
  %o3 = onnx.node "BatchNormalization"(%x0, %x1, %x2, %x2, %x2) {since_version = 15 : i64}
    : (tensor<2x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (BatchNormalization): output 1 ('running statistics') is used, which zc cannot compute}}
  %o4:2 = onnx.node "BatchNormalization"(%x0, %x2, %x2, %x2, %x2) {since_version = 15 : i64}
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
  // expected-error @+1 {{node (InstanceNormalization): expected an input of at least 3 dims}}
  %o5 = onnx.node "InstanceNormalization"(%x0, %x2, %x2) {since_version = 22 : i64}
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (GroupNormalization): cannot split the channels of 'tensor<2x4xf32>' into 3 groups}}
  %o6 = onnx.node "GroupNormalization"(%x0, %x2, %x2) {since_version = 21 : i64, node_attributes = {num_groups = 3 : i64}}
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (MeanVarianceNormalization): axis 3 is no dim of a tensor of 2 dims}}
  %o7 = onnx.node "MeanVarianceNormalization"(%x0) {since_version = 13 : i64, node_attributes = {axes = array<i64: 0, 3>}}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (LpNormalization): expected p to be 1 or 2, found 3}}
  %o8 = onnx.node "LpNormalization"(%x0) {since_version = 22 : i64, node_attributes = {p = 3 : i64}}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (LRN): expected an input of at least 2 dims and a positive size}}
  %o9 = onnx.node "LRN"(%x0) {since_version = 13 : i64, node_attributes = {size = 0 : i64}}
    : (tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4#0, %o4#1, %o5, %o6, %o7, %o8, %o9 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
