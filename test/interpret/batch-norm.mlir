// Batch normalisation, with numbers from PyTorch.
// RUN: zc-interpret %s --program given_statistics | FileCheck %s --check-prefix=GIVEN-STATISTICS
// RUN: zc-interpret %s --program own_statistics | FileCheck %s --check-prefix=OWN-STATISTICS
// RUN: zc-interpret %s --program gradient | FileCheck %s --check-prefix=GRADIENT
// RUN: zc-interpret %s --program channels_last | FileCheck %s --check-prefix=CHANNELS-LAST

// Tests normalisation with given statistics.
func.func @given_statistics() -> (tensor<2x2x3xf64>) {
  %x = train.constant dense<[[[-1.0, -1.375, 0.75], [0.375, 0.25, 1.625]], [[1.625, -1.75, 0.5], [-0.625, -1.5, -1.75]]]> : tensor<2x2x3xf64>
  %w = train.constant dense<[-0.625, -1.125]> : tensor<2xf64>
  %b = train.constant dense<[0.25, -0.125]> : tensor<2xf64>
  %m = train.constant dense<[0.0, -1.375]> : tensor<2xf64>
  %v = train.constant dense<[2.125, 0.625]> : tensor<2xf64>
  %y = train.batch_norm %x, %w, %b, %m, %v {channel_dim = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}
// GIVEN-STATISTICS: result0: f [2, 2, 3] = 0.678645617 0.839387723 -0.0714842127 -2.61330381 -2.43556782 -4.39066367 -0.446549128 1.00012983 0.0356771915 -1.19141592 0.0527359864 0.408207959{{$}}

// Tests the batch's own mean and biased variance.
func.func @own_statistics() -> (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[[-1.0, -1.375, 0.75], [0.375, 0.25, 1.625]], [[1.625, -1.75, 0.5], [-0.625, -1.5, -1.75]]]> : tensor<2x2x3xf64>
  %w = train.constant dense<[-0.625, -1.125]> : tensor<2xf64>
  %b = train.constant dense<[0.25, -0.125]> : tensor<2xf64>
  %y:3 = train.batch_norm_training %x, %w, %b {channel_dim = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y#0, %y#1, %y#2 : tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>
}
// OWN-STATISTICS: result0: f [2, 2, 3] = 0.650630446 0.840402763 -0.234973698 -0.74983306 -0.628897629 -1.95918737 -0.67777577 1.03017508 -0.10845882 0.217650388 1.0641984 1.30606927{{$}}
// OWN-STATISTICS-NEXT: result1: f [2] = -0.208333333 -0.270833333{{$}}
// OWN-STATISTICS-NEXT: result2: f [2] = 1.52430556 1.35112847{{$}}

// Tests the gradients in input, scale and bias.
func.func @gradient() -> (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[[-1.0, -1.375, 0.75], [0.375, 0.25, 1.625]], [[1.625, -1.75, 0.5], [-0.625, -1.5, -1.75]]]> : tensor<2x2x3xf64>
  %w = train.constant dense<[-0.625, -1.125]> : tensor<2xf64>
  %b = train.constant dense<[0.25, -0.125]> : tensor<2xf64>
  %g = train.constant dense<[[[0.0, 1.375, 1.375], [-2.0, -0.75, -1.125]], [[-0.75, -0.75, 1.75], [0.125, 0.625, 1.875]]]> : tensor<2x2x3xf64>
  %y:3 = train.batch_norm_training %x, %w, %b {channel_dim = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>)
  %dx:3 = train.batch_norm_grad %x, %w, %y#1, %y#2, %g {channel_dim = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x3xf64>) -> (tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>)
  return %dx#0, %dx#1, %dx#2 : tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>
}
// GRADIENT: result0: f [2, 2, 3] = 0.220881772 -0.490178047 -0.403886092 1.16339106 0.0643625821 -0.786415238 0.707022349 0.569970421 -0.603810404 -0.00990463518 0.27863444 -0.710068212{{$}}
// GRADIENT-NEXT: result1: f [2] = 0.594619925 -6.36478694{{$}}
// GRADIENT-NEXT: result2: f [2] = 3 -1.25{{$}}

// Tests that channels may come last.
func.func @channels_last() -> (tensor<2x3x2xf64>, tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[[-1.0, 0.375], [-1.375, 0.25], [0.75, 1.625]], [[1.625, -0.625], [-1.75, -1.5], [0.5, -1.75]]]> : tensor<2x3x2xf64>
  %w = train.constant dense<[-0.625, -1.125]> : tensor<2xf64>
  %b = train.constant dense<[0.25, -0.125]> : tensor<2xf64>
  %g = train.constant dense<[[[0.0, -2.0], [1.375, -0.75], [1.375, -1.125]], [[-0.75, 0.125], [-0.75, 0.625], [1.75, 1.875]]]> : tensor<2x3x2xf64>
  %y:3 = train.batch_norm_training %x, %w, %b {channel_dim = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>)
  %dx:3 = train.batch_norm_grad %x, %w, %y#1, %y#2, %g {channel_dim = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y#0, %dx#0, %dx#1, %dx#2 : tensor<2x3x2xf64>, tensor<2x3x2xf64>, tensor<2xf64>, tensor<2xf64>
}
// CHANNELS-LAST: result0: f [2, 3, 2] = 0.650630446 -0.74983306 0.840402763 -0.628897629 -0.234973698 -1.95918737 -0.67777577 0.217650388 1.03017508 1.0641984 -0.10845882 1.30606927{{$}}
// CHANNELS-LAST-NEXT: result1: f [2, 3, 2] = 0.220881772 1.16339106 -0.490178047 0.0643625821 -0.403886092 -0.786415238 0.707022349 -0.00990463518 0.569970421 0.27863444 -0.603810404 -0.710068212{{$}}
// CHANNELS-LAST-NEXT: result2: f [2] = 0.594619925 -6.36478694{{$}}
// CHANNELS-LAST-NEXT: result3: f [2] = 3 -1.25{{$}}
