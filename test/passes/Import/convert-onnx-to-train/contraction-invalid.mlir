// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests matrices and filters that do not fit.
onnx.graph @main(%x0: tensor<2x4x4xf32>, %x1: tensor<3x4x4xf32>, %x2: tensor<f32>, %x3: tensor<4x4xf32>, %x4: tensor<4x5xf32>, %x5: tensor<3x4x2xf32>, %x6: tensor<4x3x2xf32>) -> (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x3xf32>, tensor<2x3x5xf32>, tensor<2x4x5xf32>, tensor<2x4x4xf32>)
    attributes {input_names = ["x0", "x1", "x2", "x3", "x4", "x5", "x6"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (MatMul): cannot broadcast the batch dims of 'tensor<2x4x4xf32>' and 'tensor<3x4x4xf32>'}}
  %o0 = onnx.node "MatMul"(%x0, %x1) {since_version = 13 : i64}
    : (tensor<2x4x4xf32>, tensor<3x4x4xf32>) -> tensor<2x4x4xf32>
  // expected-error @+1 {{node (MatMul): expected operands of at least one dim}}
  %o1 = onnx.node "MatMul"(%x2, %x3) {since_version = 13 : i64}
    : (tensor<f32>, tensor<4x4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{node (Gemm): expected two matrices, found 'tensor<2x4x4xf32>' and 'tensor<4x4xf32>'}}
  %o2 = onnx.node "Gemm"(%x0, %x3) {since_version = 13 : i64}
    : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{node (Gemm): cannot multiply 'tensor<4x4xf32>' and 'tensor<4x5xf32>'}}
  %o3 = onnx.node "Gemm"(%x3, %x4) {since_version = 13 : i64, node_attributes = {transB = 1 : i64}}
    : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{node (Gemm): cannot broadcast 'tensor<4x5xf32>' to 'tensor<4x4xf32>'}}
  %o4 = onnx.node "Gemm"(%x3, %x3, %x4) {since_version = 13 : i64}
    : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{node (Conv): expected a filter of 3 dims, found 'tensor<4x4xf32>'}}
  %o5 = onnx.node "Conv"(%x0, %x3) {since_version = 22 : i64}
    : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  // expected-error @+1 {{node (Conv): its windows do not give the model's 'tensor<2x3x4xf32>'}}
  %o6 = onnx.node "Conv"(%x0, %x5) {since_version = 22 : i64}
    : (tensor<2x4x4xf32>, tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  // expected-error @+1 {{node (Conv): expected positive kernel sizes, strides and dilations}}
  %o7 = onnx.node "Conv"(%x0, %x5) {since_version = 22 : i64, node_attributes = {strides = array<i64: 0>}}
    : (tensor<2x4x4xf32>, tensor<3x4x2xf32>) -> tensor<2x3x3xf32>
  // expected-error @+1 {{node (ConvTranspose): expected output_padding to have 1 entries, found 2}}
  %o8 = onnx.node "ConvTranspose"(%x0, %x6) {since_version = 22 : i64, node_attributes = {output_padding = array<i64: 0, 0>}}
    : (tensor<2x4x4xf32>, tensor<4x3x2xf32>) -> tensor<2x3x5xf32>
  // expected-error @+1 {{node (ConvTranspose): cannot convolve 'tensor<2x4x4xf32>' with 'tensor<3x4x2xf32>'}}
  %o9 = onnx.node "ConvTranspose"(%x0, %x5) {since_version = 22 : i64}
    : (tensor<2x4x4xf32>, tensor<3x4x2xf32>) -> tensor<2x4x5xf32>
  // expected-error @+1 {{node (ConvTranspose): expected a filter of 3 dims, found 'tensor<4x4xf32>'}}
  %o10 = onnx.node "ConvTranspose"(%x0, %x3) {since_version = 22 : i64}
    : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7, %o8, %o9, %o10 : tensor<2x4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<2x3x4xf32>, tensor<2x3x3xf32>, tensor<2x3x5xf32>, tensor<2x4x5xf32>, tensor<2x4x4xf32>
}
