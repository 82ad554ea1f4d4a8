// Tests that values without elements fold away: a reduction of nothing is its
// identity, a concatenation leaves them out, a product over nothing is zero.
// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s --check-prefix=IR
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
// IR-NOT: x0x
// IR-NOT: tensor<0x
onnx.graph @main() -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xi32>, tensor<2x4xf64>, tensor<2x2xf64>, tensor<2x3xf64>, tensor<2x4xf64>)
    attributes {input_names = [], output_names = ["sum", "prod", "max", "min", "log_sum_exp", "all", "product", "l2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %none = onnx.initializer @none {value = dense<> : tensor<2x0x4xf64>} : tensor<2x0x4xf64>
  %ints = onnx.initializer @ints {value = dense<> : tensor<2x0x4xi32>} : tensor<2x0x4xi32>
  %flat = onnx.initializer @flat {value = dense<> : tensor<2x0xf64>} : tensor<2x0xf64>
  %wide = onnx.initializer @wide {value = dense<> : tensor<0x3xf64>} : tensor<0x3xf64>
  %x = onnx.initializer @x {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %one = onnx.initializer @one {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %abs = onnx.node "Abs"(%none) {since_version = 13 : i64} : (tensor<2x0x4xf64>) -> tensor<2x0x4xf64>
  %sum = onnx.node "ReduceSum"(%abs, %one) {since_version = 13 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xf64>, tensor<1xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}sum: f [2, 4] = 0 0 0 0 0 0 0 0{{$}}
  %prod = onnx.node "ReduceProd"(%none, %one) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xf64>, tensor<1xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}prod: f [2, 4] = 1 1 1 1 1 1 1 1{{$}}
  %max = onnx.node "ReduceMax"(%none, %one) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xf64>, tensor<1xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}max: f [2, 4] = -inf -inf -inf -inf -inf -inf -inf -inf{{$}}
  %min = onnx.node "ReduceMin"(%ints, %one) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xi32>, tensor<1xi64>) -> tensor<2x4xi32>
  // CHECK: {{^}}min: i [2, 4] = 2147483647 2147483647
  %log_sum_exp = onnx.node "ReduceLogSumExp"(%none, %one) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xf64>, tensor<1xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}log_sum_exp: f [2, 4] = -inf -inf
  %all = onnx.node "Concat"(%flat, %x, %flat) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x0xf64>, tensor<2x2xf64>, tensor<2x0xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}all: f [2, 2] = 1 2 3 4{{$}}
  %product = onnx.node "MatMul"(%flat, %wide) {since_version = 13 : i64}
    : (tensor<2x0xf64>, tensor<0x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}product: f [2, 3] = 0 0 0 0 0 0{{$}}
  %l2 = onnx.node "ReduceL2"(%none, %one) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x0x4xf64>, tensor<1xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}l2: f [2, 4] = 0 0 0 0 0 0 0 0{{$}}
  onnx.return %sum, %prod, %max, %min, %log_sum_exp, %all, %product, %l2 : tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xi32>, tensor<2x4xf64>, tensor<2x2xf64>, tensor<2x3xf64>, tensor<2x4xf64>
}
