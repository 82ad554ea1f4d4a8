// Max pooling and its gradient, with numbers from PyTorch.
// RUN: zc-interpret %s --program overlapping | FileCheck %s --check-prefix=OVERLAPPING
// RUN: zc-interpret %s --program equal_elements | FileCheck %s --check-prefix=EQUAL-ELEMENTS
// RUN: zc-interpret %s --program channels_last | FileCheck %s --check-prefix=CHANNELS-LAST

// Tests windows that overlap and reach into the padding.
func.func @overlapping() -> (tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>) {
  %x = train.constant dense<[[[[-1.25, -1.5, -2.75, -1.75], [-1.875, -1.25, -3.0, -2.125], [-1.75, -3.0, -2.75, -1.5], [-1.625, -1.5, -3.0, -2.125]]]]> : tensor<1x1x4x4xf64>
  %g = train.constant dense<[[[[-1.375, -1.875], [1.875, -0.125]]]]> : tensor<1x1x2x2xf64>
  %y = train.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  %dx = train.max_pool_grad %x, %y, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x1x4x4xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>) -> tensor<1x1x4x4xf64>
  return %y, %dx : tensor<1x1x2x2xf64>, tensor<1x1x4x4xf64>
}
// OVERLAPPING: result0: f [1, 1, 2, 2] = -1.25 -1.25 -1.25 -1.25{{$}}
// OVERLAPPING-NEXT: result1: f [1, 1, 4, 4] = -1.375 0 0 0 0 -0.125 0 0 0 0 0 0 0 0 0 0{{$}}

// Tests that the first of several largest elements takes the gradient.
func.func @equal_elements() -> (tensor<1x1x3xf64>, tensor<1x1x7xf64>) {
  %x = train.constant dense<[[[2.0, 2.0, 1.0, 1.0, 1.0, 3.0, 3.0]]]> : tensor<1x1x7xf64>
  %g = train.constant dense<[[[-1.75, 0.25, -1.875]]]> : tensor<1x1x3xf64>
  %y = train.max_pool %x {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x7xf64>) -> tensor<1x1x3xf64>
  %dx = train.max_pool_grad %x, %y, %g {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x7xf64>, tensor<1x1x3xf64>, tensor<1x1x3xf64>) -> tensor<1x1x7xf64>
  return %y, %dx : tensor<1x1x3xf64>, tensor<1x1x7xf64>
}
// EQUAL-ELEMENTS: result0: f [1, 1, 3] = 2 1 3{{$}}
// EQUAL-ELEMENTS-NEXT: result1: f [1, 1, 7] = -1.75 0 0.25 0 0 -1.875 0{{$}}

// Tests images with the channels last, and dilations.
func.func @channels_last() -> (tensor<1x2x2x2xf64>, tensor<1x4x3x2xf64>) {
  %x = train.constant dense<[[[[-1.5, 1.5], [-0.5, 2.0], [0.375, 1.125]], [[-1.75, -1.625], [1.0, 1.125], [-1.625, -0.375]], [[1.5, -1.375], [-1.375, 0.75], [0.75, 1.25]], [[0.875, -0.875], [0.625, 1.25], [0.5, 1.625]]]]> : tensor<1x4x3x2xf64>
  %g = train.constant dense<[[[[-0.375, 1.0], [-0.875, 0.0]], [[0.0, 0.75], [-1.875, -0.75]]]]> : tensor<1x2x2x2xf64>
  %y = train.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x4x3x2xf64>) -> tensor<1x2x2x2xf64>
  %dx = train.max_pool_grad %x, %y, %g {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last} : (tensor<1x4x3x2xf64>, tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>) -> tensor<1x4x3x2xf64>
  return %y, %dx : tensor<1x2x2x2xf64>, tensor<1x4x3x2xf64>
}
// CHANNELS-LAST: result0: f [1, 2, 2, 2] = 1.5 2 0.75 2 1 1.25 1 1.625{{$}}
// CHANNELS-LAST-NEXT: result1: f [1, 4, 3, 2] = 0 0 0 1 0 0 0 0 -1.875 0 0 0 -0.375 0 0 0 -0.875 0 0 0 0 0.75 0 -0.75{{$}}
