// RUN: zc-opt %s --zc-convert-onnx-to-train | FileCheck %s

// Tests the importer's own operator, behind which no gradient flows.
// CHECK: %[[STOPPED:.*]] = train.stop_gradient %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: return %[[STOPPED]]
onnx.graph @main(%x: tensor<4xf32>) -> (tensor<4xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 21 : i64}} {
  %y = onnx.node "StopGradient"(%x) {since_version = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  onnx.return %y : tensor<4xf32>
}
