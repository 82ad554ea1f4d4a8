// Tests logits that compare each sample with all: a value is divided by its rows
// where one operand reads it, and whole where another does. Chunks compute what the
// whole computes.
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s
// RUN: zc-interpret %s --program step --random 1 > %t.whole
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.chunks
// RUN: grep -q "result1: f" %t.whole
// RUN: diff %t.whole %t.chunks
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: train.softmax_cross_entropy_grad {{.*}} -> tensor<192x384xf64>
func.func @step(%x: tensor<384x4xf64> {train.input = "x"}, %g: tensor<384xf64> {train.input = "g"}, %t: tensor<384xi64> {train.input = "t", train.range = array<i64: 0, 384>})
    -> (tensor<384xf64>, tensor<384x4xf64>) {
  %v1 = train.matmul %x, %x {transpose_rhs} : (tensor<384x4xf64>, tensor<384x4xf64>) -> tensor<384x384xf64>
  %v2_0, %v2_1 = train.softmax_cross_entropy %v1, %t {ignore_index = 2 : i64} : (tensor<384x384xf64>, tensor<384xi64>) -> (tensor<384xf64>, tensor<384xf64>)
  %v3 = train.softmax_cross_entropy_grad %v1, %t, %v2_1, %g {ignore_index = 2 : i64} : (tensor<384x384xf64>, tensor<384xi64>, tensor<384xf64>, tensor<384xf64>) -> tensor<384x384xf64>
  %v4 = train.matmul %v3, %x : (tensor<384x384xf64>, tensor<384x4xf64>) -> tensor<384x4xf64>
  %v5 = train.matmul %v3, %x {transpose_lhs} : (tensor<384x384xf64>, tensor<384x4xf64>) -> tensor<384x4xf64>
  %v6 = train.add %v4, %v5 : (tensor<384x4xf64>, tensor<384x4xf64>) -> tensor<384x4xf64>
  return %v2_0, %v6 : tensor<384xf64>, tensor<384x4xf64>
}
