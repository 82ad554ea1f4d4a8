// Tests pixels at computed places: half way between two, beside the image, and boxes whose samples lie on pixels.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x1x2x2xf64>, tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>)
    attributes {input_names = [], output_names = ["deformed", "mean", "largest"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %image = onnx.initializer @image {value = dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf64>} : tensor<1x1x3x3xf64>
  %ones = onnx.initializer @ones {value = dense<1.0> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %offsets = onnx.initializer @offsets {value = dense<[[[[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]]]> : tensor<1x8x2x2xf64>} : tensor<1x8x2x2xf64>
  %small = onnx.initializer @small {value = dense<[[[[0.0, 1.0], [2.0, 3.0]]]]> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %box = onnx.initializer @box {value = dense<[[0.0, 0.0, 2.0, 2.0]]> : tensor<1x4xf64>} : tensor<1x4xf64>
  %first = onnx.initializer @first {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %deformed = onnx.node "DeformConv"(%image, %ones, %offsets) {since_version = 22 : i64}
      : (tensor<1x1x3x3xf64>, tensor<1x1x2x2xf64>, tensor<1x8x2x2xf64>) -> tensor<1x1x2x2xf64>
  // CHECK: {{^}}deformed: f [1, 1, 2, 2] = 14 12.5 26 21.5{{$}}
  %mean = onnx.node "RoiAlign"(%small, %box, %first) {since_version = 22 : i64, node_attributes = {sampling_ratio = 2 : i64}}
      : (tensor<1x1x2x2xf64>, tensor<1x4xf64>, tensor<1xi64>) -> tensor<1x1x1x1xf64>
  // CHECK: {{^}}mean: f [1, 1, 1, 1] = 1.5{{$}}
  %largest = onnx.node "RoiAlign"(%small, %box, %first) {since_version = 22 : i64, node_attributes = {sampling_ratio = 2 : i64, mode = "max"}}
      : (tensor<1x1x2x2xf64>, tensor<1x4xf64>, tensor<1xi64>) -> tensor<1x1x1x1xf64>
  // CHECK: {{^}}largest: f [1, 1, 1, 1] = 3{{$}}
  onnx.return %deformed, %mean, %largest : tensor<1x1x2x2xf64>, tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>
}
