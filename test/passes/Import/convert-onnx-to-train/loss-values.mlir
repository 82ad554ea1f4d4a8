// Tests the losses, weighted and with ignored labels.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<1x2xf64>)
    attributes {input_names = [], output_names = ["cross_entropy", "cross_entropy_weighted", "cross_entropy_sum", "nll_mean", "nll_sum_ignoring", "nll_none"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[-0.6931471805599453, -1.3862943611198906, -1.3862943611198906], [-2.0794415416798357, -0.2876820724517809, -2.0794415416798357]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c1 = onnx.initializer @c1 {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
  %c2 = onnx.initializer @c2 {value = dense<[1, 0]> : tensor<2xi64>} : tensor<2xi64>
  %c3 = onnx.initializer @c3 {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>} : tensor<3xf64>
  %c4 = onnx.initializer @c4 {value = dense<[[-1.0, -2.0], [-3.0, -5.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c5 = onnx.initializer @c5 {value = dense<[1.0, 3.0]> : tensor<2xf64>} : tensor<2xf64>
  %c6 = onnx.initializer @c6 {value = dense<[[[-1.0, -2.0], [-3.0, -5.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c7 = onnx.initializer @c7 {value = dense<[[1, 0]]> : tensor<1x2xi64>} : tensor<1x2xi64>
  %cross_entropy = onnx.node "SoftmaxCrossEntropyLoss"(%c0, %c1) {since_version = 13 : i64}
    : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<f64>
  // CHECK: {{^}}cross_entropy: f [] = 1.732867{{[0-9]*}}{{$}}
  %cross_entropy_weighted = onnx.node "SoftmaxCrossEntropyLoss"(%c0, %c2, %c3) {since_version = 13 : i64, node_attributes = {ignore_index = 0 : i64}}
    : (tensor<2x3xf64>, tensor<2xi64>, tensor<3xf64>) -> tensor<f64>
  // CHECK: {{^}}cross_entropy_weighted: f [] = 1.386294{{[0-9]*}}{{$}}
  %cross_entropy_sum = onnx.node "SoftmaxCrossEntropyLoss"(%c0, %c1) {since_version = 13 : i64, node_attributes = {reduction = "sum"}}
    : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<f64>
  // CHECK: {{^}}cross_entropy_sum: f [] = 3.465735{{[0-9]*}}{{$}}
  %nll_mean = onnx.node "NegativeLogLikelihoodLoss"(%c4, %c2, %c5) {since_version = 13 : i64}
    : (tensor<2x2xf64>, tensor<2xi64>, tensor<2xf64>) -> tensor<f64>
  // CHECK: {{^}}nll_mean: f [] = 2.25{{$}}
  %nll_sum_ignoring = onnx.node "NegativeLogLikelihoodLoss"(%c4, %c2) {since_version = 13 : i64, node_attributes = {reduction = "sum", ignore_index = 0 : i64}}
    : (tensor<2x2xf64>, tensor<2xi64>) -> tensor<f64>
  // CHECK: {{^}}nll_sum_ignoring: f [] = 2{{$}}
  %nll_none = onnx.node "NegativeLogLikelihoodLoss"(%c6, %c7) {since_version = 13 : i64, node_attributes = {reduction = "none"}}
    : (tensor<1x2x2xf64>, tensor<1x2xi64>) -> tensor<1x2xf64>
  // CHECK: {{^}}nll_none: f [1, 2] = 3 2{{$}}
  onnx.return %cross_entropy, %cross_entropy_weighted, %cross_entropy_sum, %nll_mean, %nll_sum_ignoring, %nll_none : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<1x2xf64>
}
