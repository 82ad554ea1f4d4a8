// Tests sums of products by index letters, with NumPy's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x4xf64>, tensor<3x3x2xf64>, tensor<3xf64>, tensor<f64>, tensor<3x2xf64>, tensor<4xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>)
    attributes {input_names = [], output_names = ["matmul", "outer", "diag", "trace", "implicit", "three", "batch", "dots", "alone"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %a = onnx.initializer @a {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %b = onnx.initializer @b {value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf64>} : tensor<3x4xf64>
  %s = onnx.initializer @s {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf64>} : tensor<3x3xf64>
  %v = onnx.initializer @v {value = dense<[1.0, -1.0, 2.0]> : tensor<3xf64>} : tensor<3xf64>
  %c = onnx.initializer @c {value = dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]> : tensor<2x3x2xf64>} : tensor<2x3x2xf64>
  %matmul = onnx.node "Einsum"(%a, %b) {since_version = 12 : i64, node_attributes = {equation = "ij,jk->ik"}}
    : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  // CHECK: {{^}}matmul: f [2, 4] = 38 44 50 56 83 98 113 128{{$}}
  %outer = onnx.node "Einsum"(%v, %a) {since_version = 12 : i64, node_attributes = {equation = "i,jk->kij"}}
    : (tensor<3xf64>, tensor<2x3xf64>) -> tensor<3x3x2xf64>
  // CHECK: {{^}}outer: f [3, 3, 2] = 1 4 -1 -4 2 8 2 5 -2 -5 4 10 3 6 -3 -6 6 12{{$}}
  %diag = onnx.node "Einsum"(%s) {since_version = 12 : i64, node_attributes = {equation = "ii->i"}}
    : (tensor<3x3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}diag: f [3] = 1 5 9{{$}}
  %trace = onnx.node "Einsum"(%s) {since_version = 12 : i64, node_attributes = {equation = "ii"}}
    : (tensor<3x3xf64>) -> tensor<f64>
  // CHECK: {{^}}trace: f [] = 15{{$}}
  %implicit = onnx.node "Einsum"(%a) {since_version = 12 : i64, node_attributes = {equation = "ba"}}
    : (tensor<2x3xf64>) -> tensor<3x2xf64>
  // CHECK: {{^}}implicit: f [3, 2] = 1 4 2 5 3 6{{$}}
  %three = onnx.node "Einsum"(%a, %b, %v) {since_version = 12 : i64, node_attributes = {equation = "ij,jk,j->k"}}
    : (tensor<2x3xf64>, tensor<3x4xf64>, tensor<3xf64>) -> tensor<4xf64>
  // CHECK: {{^}}three: f [4] = 132 148 164 180{{$}}
  %batch = onnx.node "Einsum"(%c, %a) {since_version = 12 : i64, node_attributes = {equation = "bij,bi->bj"}}
    : (tensor<2x3x2xf64>, tensor<2x3xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}batch: f [2, 2] = 22 28 139 154{{$}}
  %dots = onnx.node "Einsum"(%a, %v) {since_version = 12 : i64, node_attributes = {equation = "...j,j->..."}}
    : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
  // CHECK: {{^}}dots: f [2] = 5 11{{$}}
  %alone = onnx.node "Einsum"(%a, %b) {since_version = 12 : i64, node_attributes = {equation = "ij,kl->i"}}
    : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2xf64>
  // CHECK: {{^}}alone: f [2] = 468 1170{{$}}
  onnx.return %matmul, %outer, %diag, %trace, %implicit, %three, %batch, %dots, %alone : tensor<2x4xf64>, tensor<3x3x2xf64>, tensor<3xf64>, tensor<f64>, tensor<3x2xf64>, tensor<4xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>
}
