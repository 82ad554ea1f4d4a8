// Tests that a causal attention is one in which each query's own key is the last
// that it attends, forward and backward.
// RUN: zc-interpret %s --program step --random 1 | FileCheck %s
// CHECK: result0: f {{\[\]}} = 0{{$}}
// CHECK: result1: f {{\[\]}} = 0{{$}}
// CHECK: result2: f {{\[\]}} = 0{{$}}
// CHECK: result3: f {{\[\]}} = 0{{$}}
!q = tensor<2x5x2x4xf64>
!s = tensor<2x2x5xf64>
!m = tensor<1x1x5x1xi64>
func.func @step(%q: !q {train.input = "q"}, %k: !q {train.input = "k"}, %v: !q {train.input = "v"}, %g: !q {train.input = "g"})
    -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %last = train.constant dense<[[[[0], [1], [2], [3], [4]]]]> : !m
  %r, %l = train.attention %q, %k, %v {causal, scale = 0.5 : f64} : (!q, !q, !q) -> (!q, !s)
  %dq, %dk, %dv = train.attention_grad %q, %k, %v, %r, %l, %g {causal, scale = 0.5 : f64} : (!q, !q, !q, !q, !s, !q) -> (!q, !q, !q)
  %r1, %l1 = train.attention %q, %k, %v, %last {scale = 0.5 : f64} : (!q, !q, !q, !m) -> (!q, !s)
  %dq1, %dk1, %dv1 = train.attention_grad %q, %k, %v, %r1, %l1, %g, %last {scale = 0.5 : f64} : (!q, !q, !q, !q, !s, !q, !m) -> (!q, !q, !q)
  %0 = train.sub %r, %r1 : (!q, !q) -> !q
  %1 = train.sub %dq, %dq1 : (!q, !q) -> !q
  %2 = train.sub %dk, %dk1 : (!q, !q) -> !q
  %3 = train.sub %dv, %dv1 : (!q, !q) -> !q
  %s0 = train.reduce "sum_square" %0 {dims = array<i64: 0, 1, 2, 3>} : (!q) -> tensor<f64>
  %s1 = train.reduce "sum_square" %1 {dims = array<i64: 0, 1, 2, 3>} : (!q) -> tensor<f64>
  %s2 = train.reduce "sum_square" %2 {dims = array<i64: 0, 1, 2, 3>} : (!q) -> tensor<f64>
  %s3 = train.reduce "sum_square" %3 {dims = array<i64: 0, 1, 2, 3>} : (!q) -> tensor<f64>
  return %s0, %s1, %s2, %s3 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}
