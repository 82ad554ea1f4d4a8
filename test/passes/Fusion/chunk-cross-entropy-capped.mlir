// Tests that what lies between the product and the loss is done in chunks, too:
// logits that are capped (times a constant, tanh, times a constant), a mask of
// classes, and a penalty on each sample's log sum exp that joins the gradient.
// Chunks compute what the whole computes.
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s
// RUN: zc-interpret %s --program step --random 1 > %t.whole
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.chunks
// RUN: grep -q "result4: f" %t.whole
// RUN: diff %t.whole %t.chunks
// CHECK-LABEL: func.func @step
// CHECK-NOT: 2x192x6xf64
// CHECK: train.matmul {{.*}} -> tensor<192x6xf64>
// CHECK: train.tanh {{.*}} tensor<192x6xf64>
// CHECK-NOT: tensor<384x6xf64>
// CHECK-NOT: tensor<2x192x6xf64>
func.func @step(%x: tensor<2x192x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"},
                %m: tensor<6xf64> {train.input = "m"}, %s: tensor<f64> {train.input = "s"},
                %t: tensor<2x192xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<2x192xf64>, tensor<384x4xf64>, tensor<4x6xf64>, tensor<6xf64>, tensor<f64>) {
  %cap = train.constant dense<2.0> : tensor<2x192x6xf64>
  %one = train.constant dense<1.0> : tensor<2x192x6xf64>
  %0 = train.reshape %x : (tensor<2x192x4xf64>) -> tensor<384x4xf64>
  %1 = train.matmul %0, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %2 = train.reshape %1 : (tensor<384x6xf64>) -> tensor<2x192x6xf64>
  %3 = train.div %2, %cap : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %4 = train.tanh %3 : (tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %5 = train.mul %4, %cap : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %6 = train.broadcast %m {dims = array<i64: 2>} : (tensor<6xf64>) -> tensor<2x192x6xf64>
  %7 = train.add %5, %6 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %loss, %lse = train.softmax_cross_entropy %7, %t {ignore_index = 2 : i64}
      : (tensor<2x192x6xf64>, tensor<2x192xi64>) -> (tensor<2x192xf64>, tensor<2x192xf64>)
  %8 = train.mul %lse, %lse : (tensor<2x192xf64>, tensor<2x192xf64>) -> tensor<2x192xf64>
  %total = train.reduce "sum" %8 {dims = array<i64: 0, 1>} : (tensor<2x192xf64>) -> tensor<f64>
  %9 = train.broadcast %s {dims = array<i64>} : (tensor<f64>) -> tensor<2x192xf64>
  %10 = train.softmax_cross_entropy_grad %7, %t, %lse, %9 {ignore_index = 2 : i64}
      : (tensor<2x192x6xf64>, tensor<2x192xi64>, tensor<2x192xf64>, tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %11 = train.broadcast %lse {dims = array<i64: 0, 1>} : (tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %12 = train.sub %7, %11 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %13 = train.exp %12 : (tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %14 = train.neg %8 : (tensor<2x192xf64>) -> tensor<2x192xf64>
  %15 = train.broadcast %14 {dims = array<i64: 0, 1>} : (tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %16 = train.mul %13, %15 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %17 = train.add %10, %16 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %18 = train.mul %4, %4 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %19 = train.sub %one, %18 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %20 = train.mul %17, %19 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %21 = train.reshape %20 : (tensor<2x192x6xf64>) -> tensor<384x6xf64>
  %22 = train.matmul %21, %w {transpose_rhs} : (tensor<384x6xf64>, tensor<4x6xf64>) -> tensor<384x4xf64>
  %23 = train.matmul %0, %21 {transpose_lhs} : (tensor<384x4xf64>, tensor<384x6xf64>) -> tensor<4x6xf64>
  %24 = train.reduce "sum" %17 {dims = array<i64: 0, 1>} : (tensor<2x192x6xf64>) -> tensor<6xf64>
  return %loss, %22, %23, %24, %total : tensor<2x192xf64>, tensor<384x4xf64>, tensor<4x6xf64>, tensor<6xf64>, tensor<f64>
}
