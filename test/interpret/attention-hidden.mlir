// Tests that where a mask of -1e8 hides all keys and scores are below 0, the
// gradients are those of the forward: keys count alike, although the log of
// their number lifts the log sum exp above that number.
// RUN: zc-interpret %s --program step | FileCheck %s
// CHECK: result0: f {{\[\]}} = 0.5{{$}}
// CHECK: result1: f {{\[\]}} = 1{{$}}
// CHECK: result2: f {{\[\]}} = 0.5{{$}}
func.func @step() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %q = train.constant dense<-3.0> : tensor<1x1x1x2xf64>
  %k = train.constant dense<4.0> : tensor<1x2x1x2xf64>
  %v = train.constant dense<[[[[1.0, 1.0]], [[0.0, 0.0]]]]> : tensor<1x2x1x2xf64>
  %g = train.constant dense<0.5> : tensor<1x1x1x2xf64>
  %mask = train.constant dense<-1.0e+8> : tensor<1x1x1x2xf64>
  %r, %l = train.attention %q, %k, %v, %mask {scale = 1.0 : f64} : (tensor<1x1x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x1x1x2xf64>) -> (tensor<1x1x1x2xf64>, tensor<1x1x1xf64>)
  %dq, %dk, %dv = train.attention_grad %q, %k, %v, %r, %l, %g, %mask {scale = 1.0 : f64} : (tensor<1x1x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x1x1x2xf64>, tensor<1x1x1xf64>, tensor<1x1x1x2xf64>, tensor<1x1x1x2xf64>) -> (tensor<1x1x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>)
  %0 = train.reduce "max" %r {dims = array<i64: 0, 1, 2, 3>} : (tensor<1x1x1x2xf64>) -> tensor<f64>
  %1 = train.reduce "sum" %dv {dims = array<i64: 0, 1, 2, 3>} : (tensor<1x2x1x2xf64>) -> tensor<f64>
  %2 = train.reduce "min" %r {dims = array<i64: 0, 1, 2, 3>} : (tensor<1x1x1x2xf64>) -> tensor<f64>
  return %0, %1, %2 : tensor<f64>, tensor<f64>, tensor<f64>
}
