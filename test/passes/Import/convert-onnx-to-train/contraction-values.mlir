// Tests products and convolutions, transposed ones with numbers from PyTorch.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<f64>, tensor<2x2x1x1xf64>, tensor<1x2xf64>, tensor<1x1x2xf64>, tensor<1x2x2xf64>, tensor<1x1x6xf64>, tensor<1x1x7xf64>, tensor<1x2x3xf64>, tensor<1x1x6xf64>, tensor<1x1x6xf64>)
    attributes {input_names = [], output_names = ["matmul_vectors", "matmul_batches", "gemm", "conv", "conv_groups", "conv_transpose", "conv_transpose_dilated", "conv_transpose_groups", "conv_transpose_same_upper", "conv_transpose_output_shape"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>} : tensor<3xf64>
  %c1 = onnx.initializer @c1 {value = dense<[4.0, 5.0, 6.0]> : tensor<3xf64>} : tensor<3xf64>
  %c2 = onnx.initializer @c2 {value = dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf64>} : tensor<2x1x2xf64>
  %c3 = onnx.initializer @c3 {value = dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]> : tensor<2x1x2x1xf64>} : tensor<2x1x2x1xf64>
  %c4 = onnx.initializer @c4 {value = dense<[[1.0, 2.0]]> : tensor<1x2xf64>} : tensor<1x2xf64>
  %c5 = onnx.initializer @c5 {value = dense<[[3.0, 4.0], [5.0, 6.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c6 = onnx.initializer @c6 {value = dense<10.0> : tensor<f64>} : tensor<f64>
  %c7 = onnx.initializer @c7 {value = dense<[[[1.0, 2.0, 4.0, 8.0]]]> : tensor<1x1x4xf64>} : tensor<1x1x4xf64>
  %c8 = onnx.initializer @c8 {value = dense<[[[1.0, 3.0, 5.0]]]> : tensor<1x1x3xf64>} : tensor<1x1x3xf64>
  %c9 = onnx.initializer @c9 {value = dense<[0.5]> : tensor<1xf64>} : tensor<1xf64>
  %c10 = onnx.initializer @c10 {value = dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c11 = onnx.initializer @c11 {value = dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf64>} : tensor<2x1x1xf64>
  %c12 = onnx.initializer @c12 {value = dense<[[[1.0, 2.0, -1.0]]]> : tensor<1x1x3xf64>} : tensor<1x1x3xf64>
  %c13 = onnx.initializer @c13 {value = dense<[[[1.0, 2.0]], [[3.0, 5.0]]]> : tensor<2x1x2xf64>} : tensor<2x1x2xf64>
  %matmul_vectors = onnx.node "MatMul"(%c0, %c1) {since_version = 13 : i64}
    : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  // CHECK: {{^}}matmul_vectors: f [] = 32{{$}}
  %matmul_batches = onnx.node "MatMul"(%c2, %c3) {since_version = 13 : i64}
    : (tensor<2x1x2xf64>, tensor<2x1x2x1xf64>) -> tensor<2x2x1x1xf64>
  // CHECK: {{^}}matmul_batches: f [2, 2, 1, 1] = 5 11 11 25{{$}}
  %gemm = onnx.node "Gemm"(%c4, %c5, %c6) {since_version = 13 : i64, node_attributes = {transB = 1 : i64, alpha = 0.5 : f32, beta = 2.0 : f32}}
    : (tensor<1x2xf64>, tensor<2x2xf64>, tensor<f64>) -> tensor<1x2xf64>
  // CHECK: {{^}}gemm: f [1, 2] = 25.5 28.5{{$}}
  %conv = onnx.node "Conv"(%c7, %c8, %c9) {since_version = 22 : i64, node_attributes = {pads = array<i64: 1, 0>, strides = array<i64: 2>}}
    : (tensor<1x1x4xf64>, tensor<1x1x3xf64>, tensor<1xf64>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}conv: f [1, 1, 2] = 13.5 54.5{{$}}
  %conv_groups = onnx.node "Conv"(%c10, %c11) {since_version = 22 : i64, node_attributes = {group = 2 : i64}}
    : (tensor<1x2x2xf64>, tensor<2x1x1xf64>) -> tensor<1x2x2xf64>
  // CHECK: {{^}}conv_groups: f [1, 2, 2] = 1 2 30 40{{$}}
  %conv_transpose = onnx.node "ConvTranspose"(%c12, %c8) {since_version = 22 : i64, node_attributes = {strides = array<i64: 2>, pads = array<i64: 1, 1>, output_padding = array<i64: 1>}}
    : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}conv_transpose: f [1, 1, 6] = 3 7 6 9 -3 -5{{$}}
  %conv_transpose_dilated = onnx.node "ConvTranspose"(%c12, %c8, %c9) {since_version = 22 : i64, node_attributes = {dilations = array<i64: 2>}}
    : (tensor<1x1x3xf64>, tensor<1x1x3xf64>, tensor<1xf64>) -> tensor<1x1x7xf64>
  // CHECK: {{^}}conv_transpose_dilated: f [1, 1, 7] = 1.5 2.5 2.5 6.5 2.5 10.5 -4.5{{$}}
  %conv_transpose_groups = onnx.node "ConvTranspose"(%c10, %c13) {since_version = 22 : i64, node_attributes = {group = 2 : i64}}
    : (tensor<1x2x2xf64>, tensor<2x1x2xf64>) -> tensor<1x2x3xf64>
  // CHECK: {{^}}conv_transpose_groups: f [1, 2, 3] = 1 4 4 9 27 20{{$}}
  %conv_transpose_same_upper = onnx.node "ConvTranspose"(%c12, %c8) {since_version = 22 : i64, node_attributes = {strides = array<i64: 2>, auto_pad = "SAME_UPPER"}}
    : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}conv_transpose_same_upper: f [1, 1, 6] = 1 3 7 6 9 -3{{$}}
  // Of an odd total, the greater part is cut from the start.
  %conv_transpose_output_shape = onnx.node "ConvTranspose"(%c12, %c8) {since_version = 22 : i64, node_attributes = {strides = array<i64: 2>, output_shape = array<i64: 6>}}
    : (tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}conv_transpose_output_shape: f [1, 1, 6] = 3 7 6 9 -3 -5{{$}}
  onnx.return %matmul_vectors, %matmul_batches, %gemm, %conv, %conv_groups, %conv_transpose, %conv_transpose_dilated, %conv_transpose_groups, %conv_transpose_same_upper, %conv_transpose_output_shape : tensor<f64>, tensor<2x2x1x1xf64>, tensor<1x2xf64>, tensor<1x1x2xf64>, tensor<1x2x2xf64>, tensor<1x1x6xf64>, tensor<1x1x7xf64>, tensor<1x2x3xf64>, tensor<1x1x6xf64>, tensor<1x1x6xf64>
}
