// Tests that keys at minus infinity are as if they were not there, forward and
// backward, and that a query without any key has zeros and no gradient.
// RUN: zc-interpret %s --program step --random 1 | FileCheck %s
// CHECK: result0: f {{\[\]}} = 0{{$}}
// CHECK: result1: f {{\[\]}} = 0{{$}}
// CHECK: result2: f {{\[\]}} = 0{{$}}
// CHECK: result3: f {{\[\]}} = 0{{$}}
// CHECK: result4: f {{\[\]}} = 0{{$}}
func.func @step(%q: tensor<2x3x2x4xf64> {train.input = "q"}, %k: tensor<2x5x2x4xf64> {train.input = "k"},
                %v: tensor<2x5x2x4xf64> {train.input = "v"}, %g: tensor<2x3x2x4xf64> {train.input = "g"})
    -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %mask = train.constant dense<[[[[0.0, 0.0, 0.0, 0xFFF0000000000000, 0xFFF0000000000000]]]]> : tensor<1x1x1x5xf64>
  %r, %l = train.attention %q, %k, %v, %mask {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>, tensor<1x1x1x5xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x2x3xf64>)
  %dq, %dk, %dv = train.attention_grad %q, %k, %v, %r, %l, %g, %mask {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x2x3xf64>, tensor<2x3x2x4xf64>, tensor<1x1x1x5xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>)
  %k3 = train.slice %k {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x5x2x4xf64>) -> tensor<2x3x2x4xf64>
  %v3 = train.slice %v {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x5x2x4xf64>) -> tensor<2x3x2x4xf64>
  %r3, %l3 = train.attention %q, %k3, %v3 {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x2x3xf64>)
  %dq3, %dk3, %dv3 = train.attention_grad %q, %k3, %v3, %r3, %l3, %g {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x2x3xf64>, tensor<2x3x2x4xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>)
  %dkOwn = train.slice %dk {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x5x2x4xf64>) -> tensor<2x3x2x4xf64>
  %0 = train.sub %r, %r3 : (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64>
  %1 = train.sub %dq, %dq3 : (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64>
  %2 = train.sub %dkOwn, %dk3 : (tensor<2x3x2x4xf64>, tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64>
  %none = train.constant dense<0xFFF0000000000000> : tensor<1x1x1x5xf64>
  %rn, %ln = train.attention %q, %k, %v, %none {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>, tensor<1x1x1x5xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x2x3xf64>)
  %dqn, %dkn, %dvn = train.attention_grad %q, %k, %v, %rn, %ln, %g, %none {scale = 0.5 : f64} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x3x2x4xf64>, tensor<2x2x3xf64>, tensor<2x3x2x4xf64>, tensor<1x1x1x5xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>)
  %s0 = train.reduce "sum_square" %0 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x2x4xf64>) -> tensor<f64>
  %s1 = train.reduce "sum_square" %1 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x2x4xf64>) -> tensor<f64>
  %s2 = train.reduce "sum_square" %2 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x2x4xf64>) -> tensor<f64>
  %s3 = train.reduce "sum_square" %rn {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x2x4xf64>) -> tensor<f64>
  %s4 = train.reduce "sum_square" %dvn {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x5x2x4xf64>) -> tensor<f64>
  return %s0, %s1, %s2, %s3, %s4 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}
