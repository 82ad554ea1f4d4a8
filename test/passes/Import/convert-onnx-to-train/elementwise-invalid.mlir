// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests operands that fit no shape, no number of them, and integers where there is no meaning.
onnx.graph @main(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>, %x2: tensor<2xi1>, %x3: tensor<3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi1>, tensor<3xi1>)
    attributes {input_names = ["x0", "x1", "x2", "x3"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (Div): cannot broadcast 'tensor<2x3xf32>' and 'tensor<2xf32>' to one shape}}
  %o0 = onnx.node "Div"(%x0, %x1) {since_version = 14 : i64}
    : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Where): cannot broadcast 'tensor<2xi1>' and 'tensor<2x3xf32>' to one shape}}
  %o1 = onnx.node "Where"(%x2, %x0, %x0) {since_version = 16 : i64}
    : (tensor<2xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Max): expected at least one input, found none}}
  %o2 = onnx.node "Max"() {since_version = 13 : i64}
    : () -> tensor<2x3xf32>
  // expected-error @+1 {{node (Mean): expected at least one input, found none}}
  %o3 = onnx.node "Mean"() {since_version = 13 : i64}
    : () -> tensor<2x3xf32>
  // expected-error @+1 {{node (Exp): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o4 = onnx.node "Exp"(%x3) {since_version = 13 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (Tan): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o5 = onnx.node "Tan"(%x3) {since_version = 22 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (Sinh): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o6 = onnx.node "Sinh"(%x3) {since_version = 22 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (Acosh): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o7 = onnx.node "Acosh"(%x3) {since_version = 22 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (Atanh): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o8 = onnx.node "Atanh"(%x3) {since_version = 22 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // expected-error @+1 {{node (IsNaN): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o9 = onnx.node "IsNaN"(%x3) {since_version = 20 : i64}
    : (tensor<3xi64>) -> tensor<3xi1>
  // expected-error @+1 {{node (IsInf): expected input 0 to be a floating-point tensor, found 'tensor<3xi64>'}}
  %o10 = onnx.node "IsInf"(%x3) {since_version = 20 : i64}
    : (tensor<3xi64>) -> tensor<3xi1>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7, %o8, %o9, %o10 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi1>, tensor<3xi1>
}
