// Tests that nothing changes, by the interpreter.
// RUN: zc-interpret %s --program step --random 1 > %t.whole
// RUN: zc-opt %s --zc-form-regions --zc-compute-slices -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.parts
// RUN: grep -q "tensor<3xf64>) -> tensor<2x3x4xf64>" %t.mlir
// RUN: grep -q "result2: f" %t.whole
// RUN: diff %t.whole %t.parts
func.func @step(%x: tensor<2x3x12xf64> {train.input = "x"}, %b: tensor<12xf64> {train.input = "b"},
                %c: tensor<3x1xf64> {train.input = "c"})
    -> (tensor<2x3x1x2x2xf64>, tensor<2x3x2x2x2xf64>, tensor<2x3xf64>) {
  %two = train.constant dense<2.0> : tensor<2x3x12xf64>
  %0 = train.broadcast %b {dims = array<i64: 2>} : (tensor<12xf64>) -> tensor<2x3x12xf64>
  %1 = train.broadcast %c {dims = array<i64: 1, 2>} : (tensor<3x1xf64>) -> tensor<2x3x12xf64>
  %2 = train.add %x, %0 : (tensor<2x3x12xf64>, tensor<2x3x12xf64>) -> tensor<2x3x12xf64>
  %3 = train.mul %2, %1 : (tensor<2x3x12xf64>, tensor<2x3x12xf64>) -> tensor<2x3x12xf64>
  %4 = train.add %3, %two : (tensor<2x3x12xf64>, tensor<2x3x12xf64>) -> tensor<2x3x12xf64>
  %5 = train.reshape %4 : (tensor<2x3x12xf64>) -> tensor<2x3x3x2x2xf64>
  %q = train.slice %5 {offsets = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x3x3x2x2xf64>) -> tensor<2x3x1x2x2xf64>
  %kv = train.slice %5 {offsets = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x3x3x2x2xf64>) -> tensor<2x3x2x2x2xf64>
  %6 = train.broadcast %c {dims = array<i64: 0, 1>} : (tensor<3x1xf64>) -> tensor<3x2xf64>
  %7 = train.exp %6 : (tensor<3x2xf64>) -> tensor<3x2xf64>
  %8 = train.slice %7 {offsets = array<i64: 1, 0>, strides = array<i64: 1, 1>} : (tensor<3x2xf64>) -> tensor<1x2xf64>
  %9 = train.reshape %8 : (tensor<1x2xf64>) -> tensor<2xf64>
  %10 = train.broadcast %9 {dims = array<i64: 0>} : (tensor<2xf64>) -> tensor<2x3xf64>
  return %q, %kv, %10 : tensor<2x3x1x2x2xf64>, tensor<2x3x2x2x2xf64>, tensor<2x3xf64>
}
