// Layer normalisation, with numbers from PyTorch.
// RUN: zc-interpret %s --program rows | FileCheck %s --check-prefix=ROWS
// RUN: zc-interpret %s --program gradient | FileCheck %s --check-prefix=GRADIENT
// RUN: zc-interpret %s --program two_dims | FileCheck %s --check-prefix=TWO-DIMS

// Tests the result, the mean and the reciprocal standard deviation.
func.func @rows() -> (tensor<2x4xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[0.75, 1.25, -0.5, 0.75], [-1.125, -0.875, -0.25, 1.625]]> : tensor<2x4xf64>
  %w = train.constant dense<[-0.875, 0.25, -1.625, 0.625]> : tensor<4xf64>
  %b = train.constant dense<[2.0, -1.5, -0.125, 0.25]> : tensor<4xf64>
  %y:3 = train.layer_norm %x, %w, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<2x4xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y#0, %y#1, %y#2 : tensor<2x4xf64>, tensor<2xf64>, tensor<2xf64>
}
// ROWS: result0: f [2, 4] = 1.74623471 -1.23415065 2.5455776 0.431260923 2.7873041 -1.66689396 0.0164970506 1.28401691{{$}}
// ROWS-NEXT: result1: f [2] = 0.5625 -0.15625{{$}}
// ROWS-NEXT: result2: f [2] = 1.54675988 0.928801152{{$}}

// Tests the gradient in the input.
func.func @gradient() -> (tensor<2x4xf64>) {
  %x = train.constant dense<[[0.75, 1.25, -0.5, 0.75], [-1.125, -0.875, -0.25, 1.625]]> : tensor<2x4xf64>
  %w = train.constant dense<[-0.875, 0.25, -1.625, 0.625]> : tensor<4xf64>
  %b = train.constant dense<[2.0, -1.5, -0.125, 0.25]> : tensor<4xf64>
  %g = train.constant dense<[[-0.875, 1.75, 1.25, -1.5], [1.5, 1.375, -1.375, 1.75]]> : tensor<2x4xf64>
  %y:3 = train.layer_norm %x, %w, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<2x4xf64>, tensor<2xf64>, tensor<2xf64>)
  %d = train.layer_norm_grad %x, %w, %y#1, %y#2, %g {axis = 1 : i64} : (tensor<2x4xf64>, tensor<4xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x4xf64>) -> tensor<2x4xf64>
  return %d : tensor<2x4xf64>
}
// GRADIENT: result0: f [2, 4] = 1.44603179 -0.184047374 -0.0736907925 -1.18829363 -1.2306955 0.169256298 1.57933319 -0.517893991{{$}}

// Tests rows of two dims.
func.func @two_dims() -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[[-1.625, 0.875], [0.5, -0.125]], [[0.0, -2.0], [0.75, -1.375]]]> : tensor<2x2x2xf64>
  %w = train.constant dense<[[0.875, 1.5], [0.375, -1.75]]> : tensor<2x2xf64>
  %b = train.constant dense<[[-2.0, -0.625], [2.0, 1.875]]> : tensor<2x2xf64>
  %y:3 = train.layer_norm %x, %w, %b {axis = 1 : i64, epsilon = 0.5 : f64} : (tensor<2x2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y#0, %y#1, %y#2 : tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>
}
// TWO-DIMS: result0: f [2, 2, 2] = -3.12868036 0.599108144 2.18756496 1.92106859 -1.55732529 -2.17887857 2.406538 2.84466841{{$}}
// TWO-DIMS-NEXT: result1: f [2] = -0.09375 -0.65625{{$}}
// TWO-DIMS-NEXT: result2: f [2] = 0.842397002 0.770916497{{$}}
