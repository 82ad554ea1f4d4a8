// RUN: zc-opt %s --zc-apply-float8=exclude=^v$ | FileCheck %s

// Tests that the products of weights are marked, but for the last ones, those
// of other sizes and those of excluded weights.
// CHECK: module attributes {dist.notes = ["1 product of values and weights, and their gradients' products, are of 8-bit floats; of bfloat16 stay those of v (excluded), odd (16 rows by 32 x 24: not multiples of 16), head (in front of the loss)"]}
// CHECK-LABEL: func.func @step
// CHECK: train.matmul {{.*}} {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<16x32xbf16>, tensor<32x32xbf16>)
// CHECK-NOT: float8
train.state @w "parameter" : tensor<32x32xbf16>
train.state @v "parameter" : tensor<32x32xbf16>
train.state @odd "parameter" : tensor<32x24xbf16>
train.state @head "parameter" : tensor<24x16xbf16>
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %w: tensor<32x32xbf16> {train.state = @w},
    %v: tensor<32x32xbf16> {train.state = @v}, %odd: tensor<32x24xbf16> {train.state = @odd},
    %head: tensor<24x16xbf16> {train.state = @head}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x32xbf16>) -> tensor<16x32xbf16>
  %1 = train.matmul %0, %v : (tensor<16x32xbf16>, tensor<32x32xbf16>) -> tensor<16x32xbf16>
  %2 = train.matmul %1, %odd : (tensor<16x32xbf16>, tensor<32x24xbf16>) -> tensor<16x24xbf16>
  %3 = train.matmul %2, %head : (tensor<16x24xbf16>, tensor<24x16xbf16>) -> tensor<16x16xbf16>
  %4 = train.reduce "sum" %3 {dims = array<i64: 0, 1>} : (tensor<16x16xbf16>) -> tensor<f32>
  return %4 : tensor<f32>
}
