// Softmax cross-entropy, with numbers from PyTorch.
// RUN: zc-interpret %s --program loss | FileCheck %s --check-prefix=LOSS
// RUN: zc-interpret %s --program gradient | FileCheck %s --check-prefix=GRADIENT
// RUN: zc-interpret %s --program large_logits | FileCheck %s --check-prefix=LARGE-LOGITS

// Tests the loss, 0 where the label is ignored, and log sum exp.
func.func @loss() -> (tensor<4xf64>, tensor<4xf64>) {
  %x = train.constant dense<[[1.75, -2.5, 1.75], [-2.75, -0.25, 0.5], [0.75, -3.75, -0.5], [-2.5, -1.75, 0.75]]> : tensor<4x3xf64>
  %l = train.constant dense<[0, 2, -100, 1]> : tensor<4xi64>
  %y:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<4x3xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xf64>)
  return %y#0, %y#1 : tensor<4xf64>, tensor<4xf64>
}
// LOSS: result0: f [4] = 0.700253984 0.412864836 0 2.61409554{{$}}
// LOSS-NEXT: result1: f [4] = 2.45025398 0.912864836 1.01052703 0.86409554{{$}}

// Tests the gradient in the logits, 0 where the label is ignored.
func.func @gradient() -> (tensor<4x3xf64>) {
  %x = train.constant dense<[[1.75, -2.5, 1.75], [-2.75, -0.25, 0.5], [0.75, -3.75, -0.5], [-2.5, -1.75, 0.75]]> : tensor<4x3xf64>
  %l = train.constant dense<[0, 2, -100, 1]> : tensor<4xi64>
  %g = train.constant dense<[1.625, 1.5, 1.375, 0.0]> : tensor<4xf64>
  %y:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<4x3xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xf64>)
  %d = train.softmax_cross_entropy_grad %x, %l, %y#1, %g {ignore_index = -100 : i64} : (tensor<4x3xf64>, tensor<4xi64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4x3xf64>
  return %d : tensor<4x3xf64>
}
// GRADIENT: result0: f [4, 3] = -0.818253808 0.0115076164 0.806746192 0.0384883482 0.468884069 -0.507372417 0 0 0 0 0 0{{$}}

// Tests that large logits do not overflow.
func.func @large_logits() -> (tensor<2xf64>, tensor<2xf64>) {
  %x = train.constant dense<[[800.0, -800.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf64>
  %l = train.constant dense<[1, 2]> : tensor<2xi64>
  %y:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<2x3xf64>, tensor<2xi64>) -> (tensor<2xf64>, tensor<2xf64>)
  return %y#0, %y#1 : tensor<2xf64>, tensor<2xf64>
}
// LARGE-LOGITS: result0: f [2] = 1600 1.09861229{{$}}
// LARGE-LOGITS-NEXT: result1: f [2] = 800 1.09861229{{$}}
