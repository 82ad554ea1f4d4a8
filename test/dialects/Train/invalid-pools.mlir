// RUN: zc-opt %s --split-input-file --verify-diagnostics
// Tests windows that do not fit their images.

func.func @max_pool_dims(%x: tensor<2x5xf32>) {
  // expected-error @below {{image is 'tensor<2x5xf32>', expected 1 to 3 spatial dims}}
  %0 = train.max_pool %x {window = array<i64>, strides = array<i64>, dilations = array<i64>, pads_low = array<i64>, pads_high = array<i64>} : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @max_pool_pads(%x: tensor<1x2x5xf32>) {
  // expected-error @below {{pads_low has an entry of -1, expected at least 0}}
  %0 = train.max_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: -1>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  return
}

// -----

func.func @max_pool_grad_output(%x: tensor<1x2x5xf32>, %y: tensor<1x2x5xf32>) {
  // expected-error @below {{output is 'tensor<1x2x5xf32>', expected 'tensor<1x2x4xf32>'}}
  %0 = train.max_pool_grad %x, %y, %y {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  return
}

// -----

func.func @average_pool_window(%x: tensor<1x2x5xf32>) {
  // expected-error @below {{window has 2 entries, but the image has 1 spatial dims}}
  %0 = train.average_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

func.func @average_pool_of_padding(%x: tensor<1x2x5xf32>) {
  // expected-error @below {{has a window of dim 2 in the padding alone, expected every window to have an element of the image}}
  %0 = train.average_pool %x {window = array<i64: 2>, strides = array<i64: 1>, pads_low = array<i64: 2>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

func.func @average_pool_past_the_end(%x: tensor<1x2x5xf32>) {
  // expected-error @below {{has a window of dim 2 in the padding alone}}
  %0 = train.average_pool %x {window = array<i64: 2>, strides = array<i64: 5>, pads_low = array<i64: 0>, pads_high = array<i64: 2>} : (tensor<1x2x5xf32>) -> tensor<1x2x2xf32>
  return
}

// -----

func.func @average_pool_grad_grad(%g: tensor<1x2x5xf32>) {
  // expected-error @below {{grad is 'tensor<1x2x5xf32>', expected 'tensor<1x2x4xf32>'}}
  %0 = train.average_pool_grad %g {window = array<i64: 2>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  return
}
