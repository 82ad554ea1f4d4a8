// Tests that chunks compute what the whole computes, with a bias, an ignored class and
// weights stored either way.
// RUN: zc-interpret %s --program step --random 1 > %t.whole
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.chunks
// RUN: grep -q matmul_add %t.mlir
// RUN: grep -q "result3: f" %t.whole
// RUN: diff %t.whole %t.chunks
func.func @step(%x: tensor<2x192x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"},
                %b: tensor<6xf64> {train.input = "b"}, %s: tensor<f64> {train.input = "s"},
                %t: tensor<2x192xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<2x192xf64>, tensor<384x4xf64>, tensor<4x6xf64>, tensor<6xf64>) {
  %0 = train.reshape %x : (tensor<2x192x4xf64>) -> tensor<384x4xf64>
  %1 = train.matmul %0, %w : (tensor<384x4xf64>, tensor<4x6xf64>) -> tensor<384x6xf64>
  %2 = train.reshape %1 : (tensor<384x6xf64>) -> tensor<2x192x6xf64>
  %3 = train.broadcast %b {dims = array<i64: 2>} : (tensor<6xf64>) -> tensor<2x192x6xf64>
  %4 = train.add %3, %2 : (tensor<2x192x6xf64>, tensor<2x192x6xf64>) -> tensor<2x192x6xf64>
  %loss, %lse = train.softmax_cross_entropy %4, %t {ignore_index = 2 : i64}
      : (tensor<2x192x6xf64>, tensor<2x192xi64>) -> (tensor<2x192xf64>, tensor<2x192xf64>)
  %5 = train.broadcast %s {dims = array<i64>} : (tensor<f64>) -> tensor<2x192xf64>
  %6 = train.softmax_cross_entropy_grad %4, %t, %lse, %5 {ignore_index = 2 : i64}
      : (tensor<2x192x6xf64>, tensor<2x192xi64>, tensor<2x192xf64>, tensor<2x192xf64>) -> tensor<2x192x6xf64>
  %7 = train.reshape %6 : (tensor<2x192x6xf64>) -> tensor<384x6xf64>
  %8 = train.matmul %7, %w {transpose_rhs} : (tensor<384x6xf64>, tensor<4x6xf64>) -> tensor<384x4xf64>
  %9 = train.matmul %0, %7 {transpose_lhs} : (tensor<384x4xf64>, tensor<384x6xf64>) -> tensor<4x6xf64>
  %10 = train.reduce "sum" %6 {dims = array<i64: 0, 1>} : (tensor<2x192x6xf64>) -> tensor<6xf64>
  return %loss, %8, %9, %10 : tensor<2x192xf64>, tensor<384x4xf64>, tensor<4x6xf64>, tensor<6xf64>
}
