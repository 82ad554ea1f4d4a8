// Tests that gradients by places are those by images, by the interpreter: of
// windows that overlap, with equal elements and padding, behind a ReLU.
// RUN: zc-interpret %s --program step --random 1 > %t.images
// RUN: zc-opt %s --zc-keep-pool-places -o %t.mlir
// RUN: zc-interpret %t.mlir --program step --random 1 > %t.places
// RUN: grep -q "train.max_pool_places_grad" %t.mlir
// RUN: not grep -q "train.max_pool_grad" %t.mlir
// RUN: grep -q "result2: f" %t.images
// RUN: diff %t.images %t.places
func.func @step(%x: tensor<2x6x6x3xf64> {train.input = "x"}, %g: tensor<2x3x3x3xf64> {train.input = "g"}, %h: tensor<2x6x6x2xf64> {train.input = "h"})
    -> (tensor<f64> {train.metric = "loss"}, tensor<2x6x6x3xf64>, tensor<2x6x6x3xf64>) {
  %zeros = train.constant dense<0.0> : tensor<2x6x6x3xf64>
  %two = train.constant dense<2.0> : tensor<2x6x6x3xf64>
  %scaled = train.mul %x, %two : (tensor<2x6x6x3xf64>, tensor<2x6x6x3xf64>) -> tensor<2x6x6x3xf64>
  %whole = train.round %scaled : (tensor<2x6x6x3xf64>) -> tensor<2x6x6x3xf64>
  %r = train.relu %whole : (tensor<2x6x6x3xf64>) -> tensor<2x6x6x3xf64>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf64>) -> tensor<2x3x3x3xf64>
  %q = train.max_pool %whole {window = array<i64: 2, 3>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 1, 1>} : (tensor<2x6x6x3xf64>) -> tensor<2x6x6x2xf64>
  %0 = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x3x3xf64>) -> tensor<f64>
  %1 = train.reduce "sum" %q {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x6x6x2xf64>) -> tensor<f64>
  %loss = train.add %0, %1 : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf64>, tensor<2x3x3x3xf64>, tensor<2x3x3x3xf64>) -> tensor<2x6x6x3xf64>
  %m = train.compare "gt" %r, %zeros : (tensor<2x6x6x3xf64>, tensor<2x6x6x3xf64>) -> tensor<2x6x6x3xi1>
  %s = train.select %m, %d, %zeros : (tensor<2x6x6x3xi1>, tensor<2x6x6x3xf64>, tensor<2x6x6x3xf64>) -> tensor<2x6x6x3xf64>
  %e = train.max_pool_grad %whole, %q, %h {window = array<i64: 2, 3>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 1, 1>} : (tensor<2x6x6x3xf64>, tensor<2x6x6x2xf64>, tensor<2x6x6x2xf64>) -> tensor<2x6x6x3xf64>
  return %loss, %s, %e : tensor<f64>, tensor<2x6x6x3xf64>, tensor<2x6x6x3xf64>
}
