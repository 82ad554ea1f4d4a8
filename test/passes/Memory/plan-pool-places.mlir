// RUN: zc-opt %s --zc-plan-pools=encodings=bf16 -split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-plan-pools=encodings=bits,fp8 -split-input-file | FileCheck %s --check-prefix=EIGHT

// The backward reads an image for its max pool and for a product. Tests that the
// pool keeps places where the image can be rounded, which makes the plan lower;
// the marks are for --zc-encode-kept.
// CHECK: module attributes {train.plain_peak = {{[0-9]+}} : i64}
// CHECK: train.max_pool_places_grad
// CHECK: train.mul
// EIGHT: module attributes {train.plain_peak = {{[0-9]+}} : i64}
// EIGHT: train.max_pool_places_grad
func.func @step(%x: tensor<2x64x64x16xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}, tensor<2x64x64x16xf32> {train.output = "g"}) {
  %r = train.exp %x : (tensor<2x64x64x16xf32>) -> tensor<2x64x64x16xf32>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x64x64x16xf32>) -> tensor<2x32x32x16xf32>
  %loss = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x32x32x16xf32>) -> tensor<f32>
  %g = train.broadcast %loss {dims = array<i64>} : (tensor<f32>) -> tensor<2x32x32x16xf32>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x64x64x16xf32>, tensor<2x32x32x16xf32>, tensor<2x32x32x16xf32>) -> tensor<2x64x64x16xf32>
  %s = train.mul %d, %r : (tensor<2x64x64x16xf32>, tensor<2x64x64x16xf32>) -> tensor<2x64x64x16xf32>
  return %loss, %s : tensor<f32>, tensor<2x64x64x16xf32>
}

// -----

// Tests that it reads the image as before where rounding saves nothing: here the
// pool's result stays, so that places would come on top.
// CHECK: module attributes {train.exact_encodings, train.plain_peak = {{[0-9]+}} : i64}
// CHECK-NOT: places
// CHECK: train.max_pool_grad
// EIGHT: module attributes {train.exact_encodings, train.plain_peak = {{[0-9]+}} : i64}
// EIGHT: train.max_pool_grad
func.func @step(%x: tensor<2x64x64x16xbf16> {train.input = "x"}) -> (tensor<bf16> {train.metric = "loss"}, tensor<2x64x64x16xbf16> {train.output = "g"}, tensor<2x32x32x16xbf16> {train.output = "p"}) {
  %r = train.exp %x : (tensor<2x64x64x16xbf16>) -> tensor<2x64x64x16xbf16>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x64x64x16xbf16>) -> tensor<2x32x32x16xbf16>
  %loss = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x32x32x16xbf16>) -> tensor<bf16>
  %g = train.broadcast %loss {dims = array<i64>} : (tensor<bf16>) -> tensor<2x32x32x16xbf16>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x64x64x16xbf16>, tensor<2x32x32x16xbf16>, tensor<2x32x32x16xbf16>) -> tensor<2x64x64x16xbf16>
  %s = train.mul %d, %r : (tensor<2x64x64x16xbf16>, tensor<2x64x64x16xbf16>) -> tensor<2x64x64x16xbf16>
  return %loss, %s, %p : tensor<bf16>, tensor<2x64x64x16xbf16>, tensor<2x32x32x16xbf16>
}
