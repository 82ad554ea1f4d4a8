// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests labels of another shape and an unknown reduction.
onnx.graph @main(%x0: tensor<4x3xf32>, %x1: tensor<3xi64>, %x2: tensor<3xf32>, %x3: tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    attributes {input_names = ["x0", "x1", "x2", "x3"], output_names = ["o0", "o1", "o2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (SoftmaxCrossEntropyLoss): expected scores [N, C, ...] and labels [N, ...], found 'tensor<4x3xf32>' and 'tensor<3xi64>'}}
  %o0 = onnx.node "SoftmaxCrossEntropyLoss"(%x0, %x1) {since_version = 13 : i64}
    : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<f32>
  // expected-error @+1 {{node (NegativeLogLikelihoodLoss): expected scores [N, C, ...] and labels [N, ...], found 'tensor<3xf32>' and 'tensor<3xi64>'}}
  %o1 = onnx.node "NegativeLogLikelihoodLoss"(%x2, %x1) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<3xi64>) -> tensor<f32>
  // expected-error @+1 {{node (SoftmaxCrossEntropyLoss): expected reduction to be 'none', 'sum' or 'mean', found 'max'}}
  %o2 = onnx.node "SoftmaxCrossEntropyLoss"(%x0, %x3) {since_version = 13 : i64, node_attributes = {reduction = "max"}}
    : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  onnx.return %o0, %o1, %o2 : tensor<f32>, tensor<f32>, tensor<f32>
}
