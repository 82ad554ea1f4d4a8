// Softmax, with numbers from PyTorch.
// RUN: zc-interpret %s --program last_dim | FileCheck %s --check-prefix=LAST-DIM
// RUN: zc-interpret %s --program first_dim | FileCheck %s --check-prefix=FIRST-DIM
// RUN: zc-interpret %s --program large_elements | FileCheck %s --check-prefix=LARGE-ELEMENTS

// Tests softmax along the last dim.
func.func @last_dim() -> (tensor<2x3xf64>) {
  %x = train.constant dense<[[2.0, 2.5, 3.0], [-6.5, -4.0, 1.5]]> : tensor<2x3xf64>
  %y = train.softmax %x {dim = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
// LAST-DIM: result0: f [2, 3] = 0.186323723 0.307195886 0.506480391 0.000333985665 0.00406877835 0.995597236{{$}}

// Tests softmax along another dim.
func.func @first_dim() -> (tensor<2x3xf64>) {
  %x = train.constant dense<[[2.0, 2.5, 3.0], [-6.5, -4.0, 1.5]]> : tensor<2x3xf64>
  %y = train.softmax %x {dim = 0 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
// FIRST-DIM: result0: f [2, 3] = 0.999796573 0.998498818 0.817574476 0.000203426978 0.00150118226 0.182425524{{$}}

// Tests that large elements do not overflow.
func.func @large_elements() -> (tensor<2x3xf64>) {
  %x = train.constant dense<[[1000.0, 1001.0, 999.0], [-1000.0, -1000.0, -2000.0]]> : tensor<2x3xf64>
  %y = train.softmax %x {dim = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
// LARGE-ELEMENTS: result0: f [2, 3] = 0.244728471 0.665240956 0.0900305732 0.5 0.5 0{{$}}
