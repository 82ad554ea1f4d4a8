// Ops that move and reduce elements, with numbers from PyTorch.
// RUN: zc-interpret %s --program moves | FileCheck %s --check-prefix=MOVES
// RUN: zc-interpret %s --program matmul | FileCheck %s --check-prefix=MATMUL
// RUN: zc-interpret %s --program reductions | FileCheck %s --check-prefix=REDUCTIONS

// Tests broadcast, reshape, transpose, slice, pad and concat.
func.func @moves() -> (tensor<2x3xf64>, tensor<3x2xf64>, tensor<3x2xf64>, tensor<1x2xf64>, tensor<3x6xf64>, tensor<2x6xf64>) {
  %x = train.constant dense<[[1.125, 0.375, 1.625], [0.625, 1.125, 0.0]]> : tensor<2x3xf64>
  %v = train.constant dense<[0.25, 1.75, 0.625]> : tensor<3xf64>
  %a = train.broadcast %v {dims = array<i64: 1>} : (tensor<3xf64>) -> tensor<2x3xf64>
  %b = train.reshape %x : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %c = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %d = train.slice %x {offsets = array<i64: 1, 0>, strides = array<i64: 1, 2>} : (tensor<2x3xf64>) -> tensor<1x2xf64>
  %e = train.pad %x {low = array<i64: 1, 0>, interior = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<3x6xf64>
  %f = train.concat %x, %x {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x6xf64>
  return %a, %b, %c, %d, %e, %f : tensor<2x3xf64>, tensor<3x2xf64>, tensor<3x2xf64>, tensor<1x2xf64>, tensor<3x6xf64>, tensor<2x6xf64>
}
// MOVES: result0: f [2, 3] = 0.25 1.75 0.625 0.25 1.75 0.625{{$}}
// MOVES-NEXT: result1: f [3, 2] = 1.125 0.375 1.625 0.625 1.125 0{{$}}
// MOVES-NEXT: result2: f [3, 2] = 1.125 0.625 0.375 1.125 1.625 0{{$}}
// MOVES-NEXT: result3: f [1, 2] = 0.625 0{{$}}
// MOVES-NEXT: result4: f [3, 6] = 0 0 0 0 0 0 1.125 0 0.375 0 1.625 0 0.625 0 1.125 0 0 0{{$}}
// MOVES-NEXT: result5: f [2, 6] = 1.125 0.375 1.625 1.125 0.375 1.625 0.625 1.125 0 0.625 1.125 0{{$}}

// Tests a batch of products with the left operand transposed.
func.func @matmul() -> (tensor<2x2x4xf64>) {
  %a = train.constant dense<[[[-1.25, 1.75], [-1.75, 1.0], [0.875, 1.625]], [[0.625, 1.0], [-0.75, -1.375], [2.0, -0.25]]]> : tensor<2x3x2xf64>
  %b = train.constant dense<[[[-0.75, -0.5, -1.125, 0.125], [-1.0, -0.875, 1.75, -0.875], [-1.25, 0.25, 0.25, 1.375]], [[0.875, 1.0, -0.625, -0.875], [1.25, 1.75, 0.0, -2.0], [-1.75, 0.25, -0.5, 1.875]]]> : tensor<2x3x4xf64>
  %y = train.matmul %a, %b {transpose_lhs} : (tensor<2x3x2xf64>, tensor<2x3x4xf64>) -> tensor<2x2x4xf64>
  return %y : tensor<2x2x4xf64>
}
// MATMUL: result0: f [2, 2, 4] = 1.59375 2.375 -1.4375 2.578125 -4.34375 -1.34375 0.1875 1.578125 -3.890625 -0.1875 -1.390625 4.703125 -0.40625 -1.46875 -0.5 1.40625{{$}}

// Tests sum, max, min and product of rows.
func.func @reductions() -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[1.125, 0.375, 1.625], [0.625, 1.125, 0.0]]> : tensor<2x3xf64>
  %sum = train.reduce "sum" %x {dims = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  %max = train.reduce "max" %x {dims = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  %min = train.reduce "min" %x {dims = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  %prod = train.reduce "prod" %x {dims = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %sum, %max, %min, %prod : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}
// REDUCTIONS: result0: f [2] = 3.125 1.75{{$}}
// REDUCTIONS-NEXT: result1: f [2] = 1.625 1.125{{$}}
// REDUCTIONS-NEXT: result2: f [2] = 0.375 0{{$}}
// REDUCTIONS-NEXT: result3: f [2] = 0.685546875 0{{$}}
