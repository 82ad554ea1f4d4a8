// Convolution and its gradients, with numbers from PyTorch.
// RUN: zc-interpret %s --program padded | FileCheck %s --check-prefix=PADDED
// RUN: zc-interpret %s --program strided | FileCheck %s --check-prefix=STRIDED
// RUN: zc-interpret %s --program channels_last | FileCheck %s --check-prefix=CHANNELS-LAST
// RUN: zc-interpret %s --program one_spatial_dim | FileCheck %s --check-prefix=ONE-SPATIAL-DIM

// Tests padding that differs from side to side.
func.func @padded() -> (tensor<1x2x3x3xf64>, tensor<1x1x3x3xf64>, tensor<2x1x2x2xf64>) {
  %x = train.constant dense<[[[[0.5, -0.5, -0.875], [1.25, -0.25, -0.625], [-2.0, 1.75, -1.5]]]]> : tensor<1x1x3x3xf64>
  %w = train.constant dense<[[[[1.875, 0.5], [1.375, -0.375]]], [[[0.625, -2.0], [2.0, -0.625]]]]> : tensor<2x1x2x2xf64>
  %g = train.constant dense<[[[[-0.375, 0.875, -2.0], [0.75, -0.375, 0.875], [0.875, 1.875, 0.625]], [[1.25, -1.75, -1.0], [1.375, 1.25, 0.75], [1.375, 0.375, 1.375]]]]> : tensor<1x2x3x3xf64>
  %y = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 0, 1>, groups = 1 : i64} : (tensor<1x1x3x3xf64>, tensor<2x1x2x2xf64>) -> tensor<1x2x3x3xf64>
  %dx = train.conv_input_grad %g, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 0, 1>, groups = 1 : i64} : (tensor<1x2x3x3xf64>, tensor<2x1x2x2xf64>) -> tensor<1x1x3x3xf64>
  %dw = train.conv_filter_grad %x, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 0, 1>, groups = 1 : i64} : (tensor<1x1x3x3xf64>, tensor<1x2x3x3xf64>) -> tensor<2x1x2x2xf64>
  return %y, %dx, %dw : tensor<1x2x3x3xf64>, tensor<1x1x3x3xf64>, tensor<2x1x2x2xf64>
}
// PADDED: result0: f [1, 2, 3, 3] = 0.875 -0.359375 -1.203125 2.5 -1.484375 -2.5 -1.1875 2.1875 -3.234375 1.3125 -0.453125 -1.75 3.96875 1.328125 -1.796875 -3.8125 5.53125 -3.390625{{$}}
// PADDED-NEXT: result1: f [1, 1, 3, 3] = 4.25 -5.234375 -4.5625 6.28125 2.28125 4.28125 3.953125 2.140625 2.671875{{$}}
// PADDED-NEXT: result2: f [2, 1, 2, 2] = 0.03125 -1.4375 2.203125 -1.8125 0.171875 -2.359375 -0.84375 1.625{{$}}

// Tests strides, dilations and groups.
func.func @strided() -> (tensor<1x2x2x3xf64>, tensor<1x2x5x4xf64>, tensor<2x1x2x2xf64>) {
  %x = train.constant dense<[[[[1.125, 2.0, 0.125, 0.625], [-0.125, -0.375, -0.625, -1.625], [-0.25, 2.0, 0.0, 0.75], [1.5, -1.75, -1.25, 1.625], [-0.25, 1.125, 0.0, -0.375]], [[1.25, 0.75, 0.25, -1.625], [-1.0, 1.5, -0.25, -1.125], [1.25, 1.0, 1.75, 0.875], [-1.5, 0.0, -1.625, 0.375], [1.875, -1.625, 0.625, 0.125]]]]> : tensor<1x2x5x4xf64>
  %w = train.constant dense<[[[[-1.125, -0.125], [-1.25, -2.0]]], [[[-1.125, 1.125], [1.0, -0.75]]]]> : tensor<2x1x2x2xf64>
  %g = train.constant dense<[[[[0.75, -0.875, 0.5], [1.125, 0.5, -0.5]], [[-0.5, -0.375, -1.75], [0.125, -1.875, -2.0]]]]> : tensor<1x2x2x3xf64>
  %y = train.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x5x4xf64>, tensor<2x1x2x2xf64>) -> tensor<1x2x2x3xf64>
  %dx = train.conv_input_grad %g, %w {strides = array<i64: 2, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x2x3xf64>, tensor<2x1x2x2xf64>) -> tensor<1x2x5x4xf64>
  %dw = train.conv_filter_grad %x, %g {strides = array<i64: 2, 1>, dilations = array<i64: 2, 2>, pads_low = array<i64: 0, 1>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x5x4xf64>, tensor<1x2x2x3xf64>) -> tensor<2x1x2x2xf64>
  return %y, %dx, %dw : tensor<1x2x2x3xf64>, tensor<1x2x5x4xf64>, tensor<2x1x2x2xf64>
}
// STRIDED: result0: f [1, 2, 2, 3] = -4.25 -0.96875 -6.328125 -2.5 0.59375 -3 0.09375 -1.1875 -2.328125 2.34375 1.96875 -1.859375{{$}}
// STRIDED-NEXT: result1: f [1, 2, 5, 4] = 0.984375 -0.65625 0.109375 -0.0625 0 0 0 0 0.53125 -1.703125 1.6875 -0.9375 0 0 0 0 -0.625 -1.625 -1 1 0.421875 1.40625 -0.421875 -1.96875 0 0 0 0 1.734375 1.015625 -1.828125 -0.9375 0 0 0 0 -1.875 -2.09375 1.40625 1.5{{$}}
// STRIDED-NEXT: result2: f [2, 1, 2, 2] = -1.109375 3.578125 0.53125 3.328125 -6.125 -2.53125 -2.484375 -4.3125{{$}}

// Tests images with the channels last.
func.func @channels_last() -> (tensor<1x3x1x2xf64>, tensor<1x3x2x2xf64>, tensor<2x2x2x1xf64>) {
  %x = train.constant dense<[[[[-0.375, -0.875], [1.125, -0.125]], [[-0.625, 1.625], [-0.25, 0.625]], [[-0.5, 1.375], [1.0, -1.75]]]]> : tensor<1x3x2x2xf64>
  %w = train.constant dense<[[[[0.875], [-1.75]], [[-1.0], [-0.75]]], [[[0.875], [-2.0]], [[-1.25], [0.75]]]]> : tensor<2x2x2x1xf64>
  %g = train.constant dense<[[[[-1.75, 0.25]], [[-0.875, 1.0]], [[-0.5, 1.25]]]]> : tensor<1x3x1x2xf64>
  %y = train.conv %x, %w {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 0>, groups = 1 : i64, channels_last} : (tensor<1x3x2x2xf64>, tensor<2x2x2x1xf64>) -> tensor<1x3x1x2xf64>
  %dx = train.conv_input_grad %g, %w {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 0>, groups = 1 : i64, channels_last} : (tensor<1x3x1x2xf64>, tensor<2x2x2x1xf64>) -> tensor<1x3x2x2xf64>
  %dw = train.conv_filter_grad %x, %g {strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 0>, groups = 1 : i64, channels_last} : (tensor<1x3x2x2xf64>, tensor<1x3x1x2xf64>) -> tensor<2x2x2x1xf64>
  return %y, %dx, %dw : tensor<1x3x1x2xf64>, tensor<1x3x2x2xf64>, tensor<2x2x2x1xf64>
}
// CHANNELS-LAST: result0: f [1, 3, 1, 2] = 0.421875 3.234375 -2.328125 -0.546875 -1.8125 -2.15625{{$}}
// CHANNELS-LAST-NEXT: result1: f [1, 3, 2, 2] = -1.3125 1.4375 0 0 2.671875 1.125 0 0 0.1875 0.34375 0 0{{$}}
// CHANNELS-LAST-NEXT: result2: f [2, 2, 2, 1] = 1.453125 1.53125 -0.578125 -4.046875 -1.34375 -0.65625 3.125 1.78125{{$}}

// Tests one spatial dim, and a padding wider than the window.
func.func @one_spatial_dim() -> (tensor<1x1x5xf64>, tensor<1x2x3xf64>, tensor<1x2x2xf64>) {
  %x = train.constant dense<[[[-1.375, 1.125, 0.0], [-0.875, -0.875, 1.0]]]> : tensor<1x2x3xf64>
  %w = train.constant dense<[[[-2.0, 0.5], [-1.75, -0.5]]]> : tensor<1x2x2xf64>
  %g = train.constant dense<[[[-0.25, -0.375, -1.75, 0.375, 0.625]]]> : tensor<1x1x5xf64>
  %y = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 3>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x3xf64>, tensor<1x2x2xf64>) -> tensor<1x1x5xf64>
  %dx = train.conv_input_grad %g, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 3>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x5xf64>, tensor<1x2x2xf64>) -> tensor<1x2x3xf64>
  %dw = train.conv_filter_grad %x, %g {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 3>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x3xf64>, tensor<1x1x5xf64>) -> tensor<1x2x2xf64>
  return %y, %dx, %dw : tensor<1x1x5xf64>, tensor<1x2x3xf64>, tensor<1x2x2xf64>
}
// ONE-SPATIAL-DIM: result0: f [1, 1, 5] = 0 0 -0.25 5.28125 -1.21875{{$}}
// ONE-SPATIAL-DIM-NEXT: result1: f [1, 2, 3] = -1.625 -1.0625 0.3125 0.21875 -1.28125 -0.3125{{$}}
// ONE-SPATIAL-DIM-NEXT: result2: f [1, 2, 2] = 0.1875 2.828125 -0.875 1.828125{{$}}
