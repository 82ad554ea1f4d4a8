// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests elements that cannot be moved as the node says.
onnx.graph @main(%x0: tensor<2x3xf32>, %x1: tensor<1x6x3x3xf32>, %x2: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x1x6x6xf32>, tensor<1x24x1x1xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x5xf32>)
    attributes {input_names = ["x0", "x1", "x2"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10", "o11", "o12"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %c1 = onnx.initializer @c1 {value = dense<1> : tensor<2xi64>} : tensor<2xi64>
  %c2 = onnx.initializer @c2 {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %c3 = onnx.initializer @c3 {value = dense<[2, 4]> : tensor<2xi64>} : tensor<2xi64>
  %c4 = onnx.initializer @c4 {value = dense<1> : tensor<3xi64>} : tensor<3xi64>
  // expected-error @+1 {{node (Flatten): cannot reshape 'tensor<2x3xf32>' to 'tensor<4xf32>'}}
  %o0 = onnx.node "Flatten"(%x0) {since_version = 21 : i64}
    : (tensor<2x3xf32>) -> tensor<4xf32>
  // expected-error @+1 {{node (Transpose): expected perm to have 2 entries, found 1}}
  %o1 = onnx.node "Transpose"(%x0) {since_version = 21 : i64, node_attributes = {perm = array<i64: 0>}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (DepthToSpace): expected an input of 4 dims and a positive blocksize}}
  %o2 = onnx.node "DepthToSpace"(%x0) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (DepthToSpace): cannot split 6 channels into blocks of 4}}
  %o3 = onnx.node "DepthToSpace"(%x1) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64}}
    : (tensor<1x6x3x3xf32>) -> tensor<1x1x6x6xf32>
  // expected-error @+1 {{node (SpaceToDepth): cannot split 'tensor<1x6x3x3xf32>' into blocks of 2 x 2}}
  %o4 = onnx.node "SpaceToDepth"(%x1) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64}}
    : (tensor<1x6x3x3xf32>) -> tensor<1x24x1x1xf32>
  // expected-error @+1 {{node (Slice): expected starts, ends, axes and steps of one length}}
  %o5 = onnx.node "Slice"(%x0, %c0, %c1) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<1xi64>, tensor<2xi64>) -> tensor<1x3xf32>
  // expected-error @+1 {{node (Slice): expected steps other than 0}}
  %o6 = onnx.node "Slice"(%x0, %c0, %c2, %c0, %c0) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3xf32>
  // expected-error @+1 {{node (Split): its parts are larger than 'tensor<2x3xf32>'}}
  %o7:2 = onnx.node "Split"(%x0) {since_version = 18 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  // expected-error @+1 {{node (Expand): cannot broadcast 'tensor<2x3xf32>' to 'tensor<2x4xf32>'}}
  %o8 = onnx.node "Expand"(%x0, %c3) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (Concat): expected at least one input, found none}}
  %o9 = onnx.node "Concat"() {since_version = 13 : i64, node_attributes = {axis = 0 : i64}}
    : () -> tensor<2x3xf32>
  // expected-error @+1 {{node (Concat): cannot concatenate 'tensor<2x3xf32>' and 'tensor<2x4xf32>' along dim 0}}
  %o10 = onnx.node "Concat"(%x0, %x2) {since_version = 13 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  // expected-error @+1 {{node (Pad): expected pads to have 4 entries}}
  %o11 = onnx.node "Pad"(%x0, %c4) {since_version = 21 : i64}
    : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<4x5xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7#0, %o7#1, %o8, %o9, %o10, %o11 : tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x1x6x6xf32>, tensor<1x24x1x1xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x5xf32>
}
