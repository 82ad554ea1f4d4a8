// Tests that nothing changes: rows read twice, from the end, and not at all.
// RUN: zc-interpret %s --program step --random 1 > %t.whole
// RUN: zc-opt %s --zc-form-regions --zc-compact-table-gradients=min-bytes=1 -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.compact
// RUN: grep -q scatter_reduce %t.mlir
// RUN: grep -q "result1: f" %t.whole
// RUN: diff %t.whole %t.compact
func.func @step(%w: tensor<64x16xf64> {train.input = "w"}, %u: tensor<12x16xf64> {train.input = "u"},
                %ids: tensor<12xi64> {train.input = "ids", train.range = array<i64: -20, 10>})
    -> (tensor<64xf64>, tensor<64x16xf64>) {
  %zeros = train.constant dense<0.0> : tensor<64x16xf64>
  %g = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<64x16xf64>, tensor<12xi64>, tensor<12x16xf64>) -> tensor<64x16xf64>
  %n = train.reduce "sum_square" %g {dims = array<i64: 1>} : (tensor<64x16xf64>) -> tensor<64xf64>
  %w1 = train.sub %w, %g : (tensor<64x16xf64>, tensor<64x16xf64>) -> tensor<64x16xf64>
  return %n, %w1 : tensor<64xf64>, tensor<64x16xf64>
}
