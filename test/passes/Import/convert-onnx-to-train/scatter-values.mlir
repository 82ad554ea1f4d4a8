// Tests scatters, with NumPy's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<4xi64>, tensor<4xi64>)
    attributes {input_names = [], output_names = ["elements", "added", "scatter", "nd", "nd_added", "largest", "smallest", "product", "last", "counts", "last_integer"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %x = onnx.initializer @x {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %at = onnx.initializer @at {value = dense<[[2, -3], [1, 1]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %apart = onnx.initializer @apart {value = dense<[[2, -3], [1, 0]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %u = onnx.initializer @u {value = dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %places = onnx.initializer @places {value = dense<[[1, -1], [0, 0]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %two = onnx.initializer @two {value = dense<[10.0, 20.0]> : tensor<2xf64>} : tensor<2xf64>
  %rows = onnx.initializer @rows {value = dense<[[1], [1]]> : tensor<2x1xi64>} : tensor<2x1xi64>
  %updates = onnx.initializer @updates {value = dense<[[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %elements = onnx.node "ScatterElements"(%x, %apart, %u) {since_version = 18 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x3xf64>, tensor<2x2xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}elements: f [2, 3] = 20 2 10 40 30 6{{$}}
  // Equal indices add up.
  %added = onnx.node "ScatterElements"(%x, %at, %u) {since_version = 18 : i64, node_attributes = {axis = 1 : i64, reduction = "add"}}
    : (tensor<2x3xf64>, tensor<2x2xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}added: f [2, 3] = 21 2 13 4 75 6{{$}}
  %scatter = onnx.node "Scatter"(%x, %apart, %u) {since_version = 9 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x3xf64>, tensor<2x2xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}scatter: f [2, 3] = 20 2 10 40 30 6{{$}}
  %nd = onnx.node "ScatterND"(%x, %places, %two) {since_version = 18 : i64}
    : (tensor<2x3xf64>, tensor<2x2xi64>, tensor<2xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}nd: f [2, 3] = 20 2 3 4 5 10{{$}}
  %nd_added = onnx.node "ScatterND"(%x, %rows, %updates) {since_version = 18 : i64, node_attributes = {reduction = "add"}}
    : (tensor<2x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}nd_added: f [2, 3] = 1 2 3 7 9 11{{$}}
  %largest = onnx.node "ScatterElements"(%x, %at, %u) {since_version = 18 : i64, node_attributes = {axis = 1 : i64, reduction = "max"}}
    : (tensor<2x3xf64>, tensor<2x2xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}largest: f [2, 3] = 20 2 10 4 40 6{{$}}
  %smallest = onnx.node "ScatterND"(%x, %rows, %updates) {since_version = 18 : i64, node_attributes = {reduction = "min"}}
    : (tensor<2x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}smallest: f [2, 3] = 1 2 3 1 1 1{{$}}
  %product = onnx.node "ScatterND"(%x, %rows, %updates) {since_version = 18 : i64, node_attributes = {reduction = "mul"}}
    : (tensor<2x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}product: f [2, 3] = 1 2 3 8 15 24{{$}}
  // Of several for one place the last one counts.
  %last = onnx.node "ScatterND"(%x, %rows, %updates) {since_version = 18 : i64}
    : (tensor<2x3xf64>, tensor<2x1xi64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}last: f [2, 3] = 1 2 3 2 3 4{{$}}
  // Integers too.
  %none = onnx.initializer @none {value = dense<[0, 7, 0, 0]> : tensor<4xi64>} : tensor<4xi64>
  %which = onnx.initializer @which {value = dense<[3, 0, 3, -1]> : tensor<4xi64>} : tensor<4xi64>
  %ones = onnx.initializer @ones {value = dense<[1, 1, 2, 3]> : tensor<4xi64>} : tensor<4xi64>
  %counts = onnx.node "ScatterElements"(%none, %which, %ones) {since_version = 18 : i64, node_attributes = {reduction = "add"}}
    : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: {{^}}counts: i [4] = 1 7 0 6{{$}}
  %last_integer = onnx.node "ScatterElements"(%none, %which, %ones) {since_version = 18 : i64}
    : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: {{^}}last_integer: i [4] = 1 7 0 3{{$}}
  onnx.return %elements, %added, %scatter, %nd, %nd_added, %largest, %smallest, %product, %last, %counts, %last_integer : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<4xi64>, tensor<4xi64>
}
