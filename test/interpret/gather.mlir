// Gather, scatter_add and scatter_reduce, with numbers from PyTorch.
// RUN: zc-interpret %s --program rows | FileCheck %s --check-prefix=ROWS
// RUN: zc-interpret %s --program added_rows | FileCheck %s --check-prefix=ADDED-ROWS
// RUN: zc-interpret %s --program columns | FileCheck %s --check-prefix=COLUMNS
// RUN: zc-interpret %s --program out_of_range | FileCheck %s --check-prefix=OUT-OF-RANGE
// RUN: zc-interpret %s --program largest | FileCheck %s --check-prefix=LARGEST
// RUN: zc-interpret %s --program products | FileCheck %s --check-prefix=PRODUCTS

// Tests rows of a table; an index of -1 is the last.
func.func @rows() -> (tensor<2x2x2xf64>) {
  %t = train.constant dense<[[1.5, -1.125], [2.0, 0.625], [1.375, 1.625]]> : tensor<3x2xf64>
  %i = train.constant dense<[[2, 0], [-1, 2]]> : tensor<2x2xi64>
  %y = train.gather %t, %i {dim = 0 : i64} : (tensor<3x2xf64>, tensor<2x2xi64>) -> tensor<2x2x2xf64>
  return %y : tensor<2x2x2xf64>
}
// ROWS: result0: f [2, 2, 2] = 1.375 1.625 1.5 -1.125 1.375 1.625 1.375 1.625{{$}}

// Tests that updates at equal indices add up.
func.func @added_rows() -> (tensor<3x2xf64>) {
  %t = train.constant dense<[[1.5, -1.125], [2.0, 0.625], [1.375, 1.625]]> : tensor<3x2xf64>
  %i = train.constant dense<[[2, 0], [-1, 2]]> : tensor<2x2xi64>
  %u = train.constant dense<[[[1.625, 0.25], [0.5, -0.125]], [[-1.75, 1.75], [-1.625, 0.375]]]> : tensor<2x2x2xf64>
  %y = train.scatter_add %t, %i, %u {dim = 0 : i64} : (tensor<3x2xf64>, tensor<2x2xi64>, tensor<2x2x2xf64>) -> tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
// ADDED-ROWS: result0: f [3, 2] = 2 -1.25 2 0.625 -0.375 4{{$}}

// Tests a dim that is not the first.
func.func @columns() -> (tensor<2x2xf64>) {
  %t = train.constant dense<[[0.0, -1.625, -1.625], [-0.875, 0.0, -1.875]]> : tensor<2x3xf64>
  %i = train.constant dense<[1, 1]> : tensor<2xi64>
  %y = train.gather %t, %i {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<2x2xf64>
  return %y : tensor<2x2xf64>
}
// COLUMNS: result0: f [2, 2] = -1.625 -1.625 0 0{{$}}

// Tests that an index out of range reads the nearest row.
func.func @out_of_range() -> (tensor<2x3xf64>) {
  %t = train.constant dense<[[0.0, -1.625, -1.625], [-0.875, 0.0, -1.875]]> : tensor<2x3xf64>
  %i = train.constant dense<[7, -7]> : tensor<2xi64>
  %y = train.gather %t, %i {dim = 0 : i64} : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
// OUT-OF-RANGE: result0: f [2, 3] = -0.875 0 -1.875 0 -1.625 -1.625{{$}}

// Tests the largest of a row and its updates, of integers; no update, no change.
func.func @largest() -> (tensor<3x2xi64>) {
  %t = train.constant dense<[[1, -1], [2, 0], [3, 9]]> : tensor<3x2xi64>
  %i = train.constant dense<[2, 0, -1]> : tensor<3xi64>
  %u = train.constant dense<[[4, 7], [0, -5], [5, 8]]> : tensor<3x2xi64>
  %y = train.scatter_reduce "max" %t, %i, %u {dim = 0 : i64} : (tensor<3x2xi64>, tensor<3xi64>, tensor<3x2xi64>) -> tensor<3x2xi64>
  return %y : tensor<3x2xi64>
}
// LARGEST: result0: i [3, 2] = 1 -1 2 0 5 9{{$}}

// Tests products along a dim that is not the first.
func.func @products() -> (tensor<2x3xf64>) {
  %t = train.constant dense<[[1.5, -1.0, 2.0], [0.5, 4.0, 3.0]]> : tensor<2x3xf64>
  %i = train.constant dense<[1, 1]> : tensor<2xi64>
  %u = train.constant dense<[[2.0, -3.0], [0.0, 1.0]]> : tensor<2x2xf64>
  %y = train.scatter_reduce "prod" %t, %i, %u {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2xi64>, tensor<2x2xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
// PRODUCTS: result0: f [2, 3] = 1.5 6 2 0.5 0 3{{$}}
