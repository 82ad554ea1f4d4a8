// Averages of windows and their gradients, with numbers from NumPy.
// RUN: zc-interpret %s --program inside | FileCheck %s --check-prefix=INSIDE
// RUN: zc-interpret %s --program all | FileCheck %s --check-prefix=ALL
// RUN: zc-interpret %s --program channels_last | FileCheck %s --check-prefix=CHANNELS-LAST
// RUN: zc-interpret %s --program sixteen_bits | FileCheck %s --check-prefix=SIXTEEN-BITS

// Tests that windows that overlap and reach into the padding have their sums divided by the elements on the image.
func.func @inside() -> (tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>) {
  %x = train.constant dense<[[[[-7.0, -5.5, -4.0, -2.5], [-1.0, 0.5, 2.0, 3.5], [5.0, 6.5, 8.0, 9.5], [11.0, 12.5, 14.0, 15.5]]]]> : tensor<1x1x4x4xf64>
  %g = train.constant dense<[[[[1.5, -3.0], [6.0, 0.75]]]]> : tensor<1x1x2x2xf64>
  %y = train.average_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  %dx = train.average_pool_grad %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x2x2xf64>) -> tensor<1x1x4x4xf64>
  return %y, %dx : tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>
}
// INSIDE: result0: f [1, 1, 2, 2] = -3.25 -1 5.75 8{{$}}
// INSIDE-NEXT: result1: f [1, 1, 4, 4] = 0.375 -0.125 -0.5 -0.5 1.375 0.958333{{[0-9]*}} -0.416666{{[0-9]*}} -0.416666{{[0-9]*}} 1 1.08333{{[0-9]*}} 0.0833333{{[0-9]*}} 0.0833333{{[0-9]*}} 1 1.08333{{[0-9]*}} 0.0833333{{[0-9]*}} 0.0833333{{[0-9]*}}{{$}}

// Tests that windows that overlap and reach into the padding have their sums divided by all elements.
func.func @all() -> (tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>) {
  %x = train.constant dense<[[[[-7.0, -5.5, -4.0, -2.5], [-1.0, 0.5, 2.0, 3.5], [5.0, 6.5, 8.0, 9.5], [11.0, 12.5, 14.0, 15.5]]]]> : tensor<1x1x4x4xf64>
  %g = train.constant dense<[[[[1.5, -3.0], [6.0, 0.75]]]]> : tensor<1x1x2x2xf64>
  %y = train.average_pool %x {count_include_pad, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  %dx = train.average_pool_grad %g {count_include_pad, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x2x2xf64>) -> tensor<1x1x4x4xf64>
  return %y, %dx : tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>
}
// ALL: result0: f [1, 1, 2, 2] = -1.44444{{[0-9]*}} -0.666666{{[0-9]*}} 3.83333{{[0-9]*}} 8{{$}}
// ALL-NEXT: result1: f [1, 1, 4, 4] = 0.166666{{[0-9]*}} -0.166666{{[0-9]*}} -0.333333{{[0-9]*}} -0.333333{{[0-9]*}} 0.833333{{[0-9]*}} 0.583333{{[0-9]*}} -0.25 -0.25 0.666666{{[0-9]*}} 0.75 0.0833333{{[0-9]*}} 0.0833333{{[0-9]*}} 0.666666{{[0-9]*}} 0.75 0.0833333{{[0-9]*}} 0.0833333{{[0-9]*}}{{$}}

// Tests images with the channels last.
func.func @channels_last() -> (tensor<1x2x2x2xf64>, tensor<1x4x3x2xf64>) {
  %x = train.constant dense<[[[[-1.5, 1.5], [-0.5, 2.0], [0.375, 1.125]], [[-1.75, -1.625], [1.0, 1.125], [-1.625, -0.375]], [[1.5, -1.375], [-1.375, 0.75], [0.75, 1.25]], [[0.875, -0.875], [0.625, 1.25], [0.5, 1.625]]]]> : tensor<1x4x3x2xf64>
  %g = train.constant dense<[[[[-0.375, 1.0], [-0.875, 0.0]], [[0.0, 0.75], [-1.875, -0.75]]]]> : tensor<1x2x2x2xf64>
  %y = train.average_pool %x {count_include_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x4x3x2xf64>) -> tensor<1x2x2x2xf64>
  %dx = train.average_pool_grad %g {count_include_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x2x2x2xf64>) -> tensor<1x4x3x2xf64>
  return %y, %dx : tensor<1x2x2x2xf64>, tensor<1x4x3x2xf64>
}
// CHANNELS-LAST: result0: f [1, 2, 2, 2] = -0.6875 0.75 -0.1875 0.96875 0.40625 -0.0625 0.125 1.21875{{$}}
// CHANNELS-LAST-NEXT: result1: f [1, 4, 3, 2] = -0.09375 0.25 -0.3125 0.25 -0.21875 0 -0.09375 0.25 -0.3125 0.25 -0.21875 0 0 0.1875 -0.46875 0 -0.46875 -0.1875 0 0.1875 -0.46875 0 -0.46875 -0.1875{{$}}

// Tests that sums are not rounded to 16 bits on the way: 256 + 1 is 256 there.
func.func @sixteen_bits() -> (tensor<1x1x1xf32>, tensor<1x1x6xf32>) {
  %x = train.constant dense<[[[256.0, 1.0, 1.0, 2.0]]]> : tensor<1x1x4xbf16>
  %g = train.constant dense<[[[1024.0, 4.0, 4.0]]]> : tensor<1x1x3xbf16>
  %y = train.average_pool %x {count_include_pad, window = array<i64: 4>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xbf16>) -> tensor<1x1x1xbf16>
  %dx = train.average_pool_grad %g {count_include_pad, window = array<i64: 4>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x3xbf16>) -> tensor<1x1x6xbf16>
  %r0 = train.convert %y : (tensor<1x1x1xbf16>) -> tensor<1x1x1xf32>
  %r1 = train.convert %dx : (tensor<1x1x6xbf16>) -> tensor<1x1x6xf32>
  return %r0, %r1 : tensor<1x1x1xf32>, tensor<1x1x6xf32>
}
// SIXTEEN-BITS: result0: f [1, 1, 1] = 65{{$}}
// SIXTEEN-BITS-NEXT: result1: f [1, 1, 6] = 256 256 258 258 2 1{{$}}
