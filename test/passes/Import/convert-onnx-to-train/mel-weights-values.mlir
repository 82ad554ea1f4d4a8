// Tests the triangles of MelWeightMatrix, with the numbers of ONNX's reference.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<5x4xf32>)
    attributes {input_names = [], output_names = ["weights"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %bands = onnx.initializer @bands {value = dense<4> : tensor<i64>} : tensor<i64>
  %length = onnx.initializer @length {value = dense<8> : tensor<i64>} : tensor<i64>
  %rate = onnx.initializer @rate {value = dense<8192> : tensor<i64>} : tensor<i64>
  %low = onnx.initializer @low {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %high = onnx.initializer @high {value = dense<4096.0> : tensor<f32>} : tensor<f32>
  %weights = onnx.node "MelWeightMatrix"(%bands, %length, %rate, %low, %high) {since_version = 17 : i64}
    : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<5x4xf32>
  // CHECK: {{^}}weights: f [5, 4] = 1 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 0 0 0 0{{$}}
  onnx.return %weights : tensor<5x4xf32>
}
