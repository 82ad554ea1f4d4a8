// Tests determinants, with NumPy's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<f64>, tensor<2xf64>, tensor<f64>, tensor<f64>)
    attributes {input_names = [], output_names = ["two", "batch", "four", "one"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %a = onnx.initializer @a {value = dense<[[2.0, -1.0], [0.5, 3.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %b = onnx.initializer @b {value = dense<[[[1.5, -1.0, 0.75], [-0.5, -1.0, 0.75], [-0.75, -0.5, 1.0]], [[-0.0, 1.25, 0.0], [-1.25, -0.25, 1.5], [0.25, 1.75, -2.0]]]> : tensor<2x3x3xf64>} : tensor<2x3x3xf64>
  %c = onnx.initializer @c {value = dense<[[-0.75, 1.0, 0.75, 0.25], [0.75, 1.5, 0.75, 0.25], [0.25, 0.75, -0.75, 0.75], [0.5, 1.25, -0.0, -2.0]]> : tensor<4x4xf64>} : tensor<4x4xf64>
  %d = onnx.initializer @d {value = dense<[[-2.5]]> : tensor<1x1xf64>} : tensor<1x1xf64>
  %two = onnx.node "Det"(%a) {since_version = 22 : i64}
    : (tensor<2x2xf64>) -> tensor<f64>
  // CHECK: {{^}}two: f [] = 6.5{{$}}
  %batch = onnx.node "Det"(%b) {since_version = 22 : i64}
    : (tensor<2x3x3xf64>) -> tensor<2xf64>
  // CHECK: {{^}}batch: f [2] = -1.25 -2.65625{{$}}
  %four = onnx.node "Det"(%c) {since_version = 22 : i64}
    : (tensor<4x4xf64>) -> tensor<f64>
  // CHECK: {{^}}four: f [] = -5.53125{{$}}
  %one = onnx.node "Det"(%d) {since_version = 11 : i64}
    : (tensor<1x1xf64>) -> tensor<f64>
  // CHECK: {{^}}one: f [] = -2.5{{$}}
  onnx.return %two, %batch, %four, %one : tensor<f64>, tensor<2xf64>, tensor<f64>, tensor<f64>
}
