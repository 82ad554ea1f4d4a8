// Tests gathers, one-hot vectors and triangles.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x1x2xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<4x4xf64>, tensor<2x3x2xf64>, tensor<2x2x3xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<1x2x3xf64>, tensor<2x2x1xf64>)
    attributes {input_names = [], output_names = ["gather_nd", "gather_nd_rows", "gather_nd_batch", "gather_elements", "gather", "one_hot", "triu", "tril", "reversed", "reversed_rows", "counted", "fixed", "in_batch", "diagonal", "elements_inside"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c1 = onnx.initializer @c1 {value = dense<[[0, -1], [1, 0]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c2 = onnx.initializer @c2 {value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf64>} : tensor<3x2xf64>
  %c3 = onnx.initializer @c3 {value = dense<[[2], [-3]]> : tensor<2x1xi64>} : tensor<2x1xi64>
  %c4 = onnx.initializer @c4 {value = dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf64>} : tensor<2x2x2xf64>
  %c5 = onnx.initializer @c5 {value = dense<[[1], [0]]> : tensor<2x1xi64>} : tensor<2x1xi64>
  %c6 = onnx.initializer @c6 {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c7 = onnx.initializer @c7 {value = dense<[[0, -1], [2, 1]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c8 = onnx.initializer @c8 {value = dense<[[2, -3]]> : tensor<1x2xi64>} : tensor<1x2xi64>
  %c9 = onnx.initializer @c9 {value = dense<[1, -1, 5]> : tensor<3xi64>} : tensor<3xi64>
  %c10 = onnx.initializer @c10 {value = dense<3> : tensor<i64>} : tensor<i64>
  %c11 = onnx.initializer @c11 {value = dense<[-1.0, 2.0]> : tensor<2xf64>} : tensor<2xf64>
  %c12 = onnx.initializer @c12 {value = dense<1> : tensor<i64>} : tensor<i64>
  %c13 = onnx.initializer @c13 {value = dense<-1> : tensor<i64>} : tensor<i64>
  // Negative indices count from the end.
  %gather_nd = onnx.node "GatherND"(%c0, %c1) {since_version = 13 : i64}
    : (tensor<2x2xf64>, tensor<2x2xi64>) -> tensor<2xf64>
  // CHECK: {{^}}gather_nd: f [2] = 2 3{{$}}
  %gather_nd_rows = onnx.node "GatherND"(%c2, %c3) {since_version = 13 : i64}
    : (tensor<3x2xf64>, tensor<2x1xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}gather_nd_rows: f [2, 2] = 5 6 1 2{{$}}
  %gather_nd_batch = onnx.node "GatherND"(%c4, %c5) {since_version = 13 : i64, node_attributes = {batch_dims = 1 : i64}}
    : (tensor<2x2x2xf64>, tensor<2x1xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}gather_nd_batch: f [2, 2] = 3 4 5 6{{$}}
  %gather_elements = onnx.node "GatherElements"(%c6, %c7) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x3xf64>, tensor<2x2xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}gather_elements: f [2, 2] = 1 3 6 5{{$}}
  %gather = onnx.node "Gather"(%c6, %c8) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x3xf64>, tensor<1x2xi64>) -> tensor<2x1x2xf64>
  // CHECK: {{^}}gather: f [2, 1, 2] = 3 1 6 4{{$}}
  // An index outside the depth is nowhere hot.
  %one_hot = onnx.node "OneHot"(%c9, %c10, %c11) {since_version = 11 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<3xi64>, tensor<i64>, tensor<2xf64>) -> tensor<3x3xf64>
  // CHECK: {{^}}one_hot: f [3, 3] = -1 -1 -1 2 -1 -1 -1 2 -1{{$}}
  %triu = onnx.node "Trilu"(%c6, %c12) {since_version = 14 : i64}
    : (tensor<2x3xf64>, tensor<i64>) -> tensor<2x3xf64>
  // CHECK: {{^}}triu: f [2, 3] = 0 2 3 0 0 6{{$}}
  %tril = onnx.node "Trilu"(%c6, %c13) {since_version = 14 : i64, node_attributes = {upper = 0 : i64}}
    : (tensor<2x3xf64>, tensor<i64>) -> tensor<2x3xf64>
  // CHECK: {{^}}tril: f [2, 3] = 0 0 0 4 0 0{{$}}
  %r0 = onnx.initializer @r0 {value = dense<[[0.0, 4.0, 8.0, 12.0], [1.0, 5.0, 9.0, 13.0], [2.0, 6.0, 10.0, 14.0], [3.0, 7.0, 11.0, 15.0]]> : tensor<4x4xf64>} : tensor<4x4xf64>
  %r1 = onnx.initializer @r1 {value = dense<[4, 3, 2, 1]> : tensor<4xi64>} : tensor<4xi64>
  %reversed = onnx.node "ReverseSequence"(%r0, %r1) {since_version = 10 : i64}
    : (tensor<4x4xf64>, tensor<4xi64>) -> tensor<4x4xf64>
  // CHECK: {{^}}reversed: f [4, 4] = 3 6 9 12 2 5 8 13 1 4 10 14 0 7 11 15{{$}}
  %r2 = onnx.initializer @r2 {value = dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]> : tensor<2x3x2xf64>} : tensor<2x3x2xf64>
  %r3 = onnx.initializer @r3 {value = dense<[3, 2]> : tensor<2xi64>} : tensor<2xi64>
  %reversed_rows = onnx.node "ReverseSequence"(%r2, %r3) {since_version = 10 : i64, node_attributes = {time_axis = 1 : i64, batch_axis = 0 : i64}}
    : (tensor<2x3x2xf64>, tensor<2xi64>) -> tensor<2x3x2xf64>
  // CHECK: {{^}}reversed_rows: f [2, 3, 2] = 5 6 3 4 1 2 9 10 7 8 11 12{{$}}
  // Indices that count up, in part, from the end, backwards in the table's dims,
  // with some that are looked up.
  %n0 = onnx.initializer @n0 {value = dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]]> : tensor<2x2x3xf64>} : tensor<2x2x3xf64>
  %n1 = onnx.initializer @n1 {value = dense<[[[1, -2], [1, -1]], [[0, -2], [0, -1]]]> : tensor<2x2x2xi64>} : tensor<2x2x2xi64>
  %counted = onnx.node "GatherND"(%n0, %n1) {since_version = 13 : i64}
    : (tensor<2x2x3xf64>, tensor<2x2x2xi64>) -> tensor<2x2x3xf64>
  // CHECK: {{^}}counted: f [2, 2, 3] = 7 8 9 10 11 12 1 2 3 4 5 6{{$}}
  %n2 = onnx.initializer @n2 {value = dense<[[1, 0, 2], [1, 1, 0]]> : tensor<2x3xi64>} : tensor<2x3xi64>
  %fixed = onnx.node "GatherND"(%n0, %n2) {since_version = 13 : i64}
    : (tensor<2x2x3xf64>, tensor<2x3xi64>) -> tensor<2xf64>
  // CHECK: {{^}}fixed: f [2] = 9 10{{$}}
  %n3 = onnx.initializer @n3 {value = dense<[[[0, 1], [1, 1]], [[0, 2], [1, 2]]]> : tensor<2x2x2xi64>} : tensor<2x2x2xi64>
  %in_batch = onnx.node "GatherND"(%n0, %n3) {since_version = 13 : i64, node_attributes = {batch_dims = 1 : i64}}
    : (tensor<2x2x3xf64>, tensor<2x2x2xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}in_batch: f [2, 2] = 2 5 9 12{{$}}
  %n4 = onnx.initializer @n4 {value = dense<[[[0, 0], [1, 1]]]> : tensor<1x2x2xi64>} : tensor<1x2x2xi64>
  %diagonal = onnx.node "GatherND"(%n0, %n4) {since_version = 13 : i64}
    : (tensor<2x2x3xf64>, tensor<1x2x2xi64>) -> tensor<1x2x3xf64>
  // CHECK: {{^}}diagonal: f [1, 2, 3] = 1 2 3 10 11 12{{$}}
  %n5 = onnx.initializer @n5 {value = dense<[[[1], [0]], [[-1], [-2]]]> : tensor<2x2x1xi64>} : tensor<2x2x1xi64>
  %elements_inside = onnx.node "GatherElements"(%n0, %n5) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x2x3xf64>, tensor<2x2x1xi64>) -> tensor<2x2x1xf64>
  // CHECK: {{^}}elements_inside: f [2, 2, 1] = 4 1 10 7{{$}}
  onnx.return %gather_nd, %gather_nd_rows, %gather_nd_batch, %gather_elements, %gather, %one_hot, %triu, %tril, %reversed, %reversed_rows, %counted, %fixed, %in_batch, %diagonal, %elements_inside : tensor<2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x1x2xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<4x4xf64>, tensor<2x3x2xf64>, tensor<2x2x3xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<1x2x3xf64>, tensor<2x2x1xf64>
}
