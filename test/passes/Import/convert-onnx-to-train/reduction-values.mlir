// Tests reductions, the positions of extremes and running sums, of floats, integers and bools.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x2xf64>, tensor<1x1xi64>, tensor<2xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi32>, tensor<2xi1>, tensor<2xi1>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2xf64>, tensor<2xf64>, tensor<4xf64>, tensor<1x2xf64>, tensor<2xi64>, tensor<2x2xf64>, tensor<2xi64>, tensor<2x1xi64>, tensor<2xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<2x3xi64>)
    attributes {input_names = [], output_names = ["prod", "prod_all", "min", "max_integers", "min_integers", "max_narrow", "min_bools", "max_bools", "l1", "l2", "l2_integers", "sum_square", "log_sum", "log_sum_exp", "log_sum_exp_kept", "mean_integers", "sum_noop", "argmax", "argmax_last", "argmin", "argmin_last", "argmax_integers", "argmin_integers", "cumsum", "cumsum_exclusive", "cumsum_reverse", "cumsum_both"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[[1.0, -2.0], [3.0, 4.0]], [[-5.0, 6.0], [7.0, -8.0]]]> : tensor<2x2x2xf64>} : tensor<2x2x2xf64>
  %c1 = onnx.initializer @c1 {value = dense<[0]> : tensor<1xi64>} : tensor<1xi64>
  %c2 = onnx.initializer @c2 {value = dense<[[3, -1], [2, 9]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c3 = onnx.initializer @c3 {value = dense<[1, -1]> : tensor<2xi64>} : tensor<2xi64>
  %c4 = onnx.initializer @c4 {value = dense<[[-3, -1], [-2, -9]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c5 = onnx.initializer @c5 {value = dense<[1]> : tensor<1xi64>} : tensor<1xi64>
  %c6 = onnx.initializer @c6 {value = dense<[[-3, -1], [-2, -9]]> : tensor<2x2xi32>} : tensor<2x2xi32>
  %c7 = onnx.initializer @c7 {value = dense<[[true, false], [true, true]]> : tensor<2x2xi1>} : tensor<2x2xi1>
  %c8 = onnx.initializer @c8 {value = dense<[[true, false], [false, false]]> : tensor<2x2xi1>} : tensor<2x2xi1>
  %c9 = onnx.initializer @c9 {value = dense<[2]> : tensor<1xi64>} : tensor<1xi64>
  %c10 = onnx.initializer @c10 {value = dense<[[3.0, 4.0], [6.0, 8.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c11 = onnx.initializer @c11 {value = dense<[[3, 4], [6, 8]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c12 = onnx.initializer @c12 {value = dense<[0, 2]> : tensor<2xi64>} : tensor<2xi64>
  %c13 = onnx.initializer @c13 {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c14 = onnx.initializer @c14 {value = dense<[[0.0, 0.0], [1000.0, 1000.0], [0xFFF0000000000000, 0xFFF0000000000000], [0x7FF0000000000000, 0.0]]> : tensor<4x2xf64>} : tensor<4x2xf64>
  %c15 = onnx.initializer @c15 {value = dense<[[1, 3], [5, 8]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c16 = onnx.initializer @c16 {value = dense<[[1.0, 3.0, 3.0], [2.0, -1.0, 0.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c17 = onnx.initializer @c17 {value = dense<[[1.0, 3.0, 1.0], [2.0, -1.0, 0.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c18 = onnx.initializer @c18 {value = dense<[[3, 1], [2, 9]]> : tensor<2x2xi64>} : tensor<2x2xi64>
  %c19 = onnx.initializer @c19 {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf64>} : tensor<5xf64>
  %c20 = onnx.initializer @c20 {value = dense<0> : tensor<i64>} : tensor<i64>
  %c21 = onnx.initializer @c21 {value = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>} : tensor<2x3xi64>
  %c22 = onnx.initializer @c22 {value = dense<-1> : tensor<i64>} : tensor<i64>
  %prod = onnx.node "ReduceProd"(%c0, %c1) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2x2xf64>, tensor<1xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}prod: f [2, 2] = -5 -12 21 -32{{$}}
  %prod_all = onnx.node "ReduceProd"(%c2) {since_version = 18 : i64}
    : (tensor<2x2xi64>) -> tensor<1x1xi64>
  // CHECK: {{^}}prod_all: i [1, 1] = -54{{$}}
  %min = onnx.node "ReduceMin"(%c0, %c3) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2x2xf64>, tensor<2xi64>) -> tensor<2xf64>
  // CHECK: {{^}}min: f [2] = -2 -8{{$}}
  %max_integers = onnx.node "ReduceMax"(%c4, %c5) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: {{^}}max_integers: i [2] = -1 -2{{$}}
  %min_integers = onnx.node "ReduceMin"(%c2, %c5) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: {{^}}min_integers: i [2] = -1 2{{$}}
  %max_narrow = onnx.node "ReduceMax"(%c6, %c1) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi32>, tensor<1xi64>) -> tensor<2xi32>
  // CHECK: {{^}}max_narrow: i [2] = -2 -1{{$}}
  %min_bools = onnx.node "ReduceMin"(%c7, %c5) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi1>, tensor<1xi64>) -> tensor<2xi1>
  // CHECK: {{^}}min_bools: i [2] = 0 1{{$}}
  %max_bools = onnx.node "ReduceMax"(%c8, %c5) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi1>, tensor<1xi64>) -> tensor<2xi1>
  // CHECK: {{^}}max_bools: i [2] = 1 0{{$}}
  %l1 = onnx.node "ReduceL1"(%c0, %c9) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2x2xf64>, tensor<1xi64>) -> tensor<2x2xf64>
  // CHECK: {{^}}l1: f [2, 2] = 3 7 11 15{{$}}
  %l2 = onnx.node "ReduceL2"(%c10, %c5) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xf64>, tensor<1xi64>) -> tensor<2xf64>
  // CHECK: {{^}}l2: f [2] = 5 10{{$}}
  %l2_integers = onnx.node "ReduceL2"(%c11, %c5) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: {{^}}l2_integers: i [2] = 5 10{{$}}
  %sum_square = onnx.node "ReduceSumSquare"(%c0, %c12) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2x2xf64>, tensor<2xi64>) -> tensor<2xf64>
  // CHECK: {{^}}sum_square: f [2] = 66 138{{$}}
  %log_sum = onnx.node "ReduceLogSum"(%c13, %c5) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xf64>, tensor<1xi64>) -> tensor<2xf64>
  // CHECK: {{^}}log_sum: f [2] = 1.098612{{[0-9]*}} 1.945910{{[0-9]*}}{{$}}
  // Neither a large nor an infinite element spoils it.
  %log_sum_exp = onnx.node "ReduceLogSumExp"(%c14, %c5) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<4xf64>
  // CHECK: {{^}}log_sum_exp: f [4] = 0.6931471{{[0-9]*}} 1000.693{{[0-9]*}} -inf inf{{$}}
  %log_sum_exp_kept = onnx.node "ReduceLogSumExp"(%c13) {since_version = 13 : i64, node_attributes = {axes = array<i64: 0>}}
    : (tensor<2x2xf64>) -> tensor<1x2xf64>
  // CHECK: {{^}}log_sum_exp_kept: f [1, 2] = 3.126928{{[0-9]*}} 4.126928{{[0-9]*}}{{$}}
  %mean_integers = onnx.node "ReduceMean"(%c15, %c5) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: {{^}}mean_integers: i [2] = 2 6{{$}}
  %sum_noop = onnx.node "ReduceSumSquare"(%c13) {since_version = 18 : i64, node_attributes = {noop_with_empty_axes = 1 : i64}}
    : (tensor<2x2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}sum_noop: f [2, 2] = 1 4 9 16{{$}}
  // The first of equal elements, or the last.
  %argmax = onnx.node "ArgMax"(%c16) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, keepdims = 0 : i64}}
    : (tensor<2x3xf64>) -> tensor<2xi64>
  // CHECK: {{^}}argmax: i [2] = 1 0{{$}}
  %argmax_last = onnx.node "ArgMax"(%c16) {since_version = 13 : i64, node_attributes = {axis = -1 : i64, select_last_index = 1 : i64}}
    : (tensor<2x3xf64>) -> tensor<2x1xi64>
  // CHECK: {{^}}argmax_last: i [2, 1] = 2 0{{$}}
  %argmin = onnx.node "ArgMin"(%c17) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, keepdims = 0 : i64}}
    : (tensor<2x3xf64>) -> tensor<2xi64>
  // CHECK: {{^}}argmin: i [2] = 0 1{{$}}
  %argmin_last = onnx.node "ArgMin"(%c17) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, select_last_index = 1 : i64}}
    : (tensor<2x3xf64>) -> tensor<2x1xi64>
  // CHECK: {{^}}argmin_last: i [2, 1] = 2 1{{$}}
  %argmax_integers = onnx.node "ArgMax"(%c4) {since_version = 13 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x2xi64>) -> tensor<1x2xi64>
  // CHECK: {{^}}argmax_integers: i [1, 2] = 1 0{{$}}
  %argmin_integers = onnx.node "ArgMin"(%c18) {since_version = 13 : i64}
    : (tensor<2x2xi64>) -> tensor<1x2xi64>
  // CHECK: {{^}}argmin_integers: i [1, 2] = 1 0{{$}}
  %cumsum = onnx.node "CumSum"(%c19, %c20) {since_version = 14 : i64}
    : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}cumsum: f [5] = 1 3 6 10 15{{$}}
  %cumsum_exclusive = onnx.node "CumSum"(%c19, %c20) {since_version = 14 : i64, node_attributes = {exclusive = 1 : i64}}
    : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}cumsum_exclusive: f [5] = 0 1 3 6 10{{$}}
  %cumsum_reverse = onnx.node "CumSum"(%c19, %c20) {since_version = 14 : i64, node_attributes = {reverse = 1 : i64}}
    : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}cumsum_reverse: f [5] = 15 14 12 9 5{{$}}
  %cumsum_both = onnx.node "CumSum"(%c21, %c22) {since_version = 14 : i64, node_attributes = {reverse = 1 : i64, exclusive = 1 : i64}}
    : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
  // CHECK: {{^}}cumsum_both: i [2, 3] = 5 3 0 11 6 0{{$}}
  onnx.return %prod, %prod_all, %min, %max_integers, %min_integers, %max_narrow, %min_bools, %max_bools, %l1, %l2, %l2_integers, %sum_square, %log_sum, %log_sum_exp, %log_sum_exp_kept, %mean_integers, %sum_noop, %argmax, %argmax_last, %argmin, %argmin_last, %argmax_integers, %argmin_integers, %cumsum, %cumsum_exclusive, %cumsum_reverse, %cumsum_both : tensor<2x2xf64>, tensor<1x1xi64>, tensor<2xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi32>, tensor<2xi1>, tensor<2xi1>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2xf64>, tensor<2xf64>, tensor<4xf64>, tensor<1x2xf64>, tensor<2xi64>, tensor<2x2xf64>, tensor<2xi64>, tensor<2x1xi64>, tensor<2xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<2x3xi64>
}
