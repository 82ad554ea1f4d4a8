// RUN: zc-opt %s --zc-keep-pool-places --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-keep-pool-places=always --split-input-file | FileCheck %s --check-prefix=ALWAYS

// Tests that a pool keeps the places of its maxima, that the ReLU in front of it
// has its slope from them, and that nothing of the backward reads the image.
// CHECK-LABEL: func.func @step
// CHECK: %[[R:.*]] = train.relu
// CHECK-NEXT: %[[P:.*]], %[[PLACES:.*]] = train.max_pool_places %[[R]]
// CHECK-SAME: -> (tensor<2x3x3x3xf32>, tensor<2x3x3x3xi8>)
// CHECK-NOT: %[[R]]
// CHECK: %[[M:.*]] = train.compare "gt" %[[P]]
// CHECK: %[[S:.*]] = train.select %[[M]], %[[G:.*]], %{{.*}} : (tensor<2x3x3x3xi1>
// CHECK: %[[X:.*]] = train.max_pool_places_grad %[[PLACES]], %[[S]]
// CHECK-NOT: max_pool_grad
// CHECK: return %{{.*}}, %[[X]]
func.func @step(%x: tensor<2x6x6x3xf32>) -> (tensor<f32> {train.metric = "loss"}, tensor<2x6x6x3xf32>) {
  %zeros = train.constant dense<0.0> : tensor<2x6x6x3xf32>
  %r = train.relu %x : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>) -> tensor<2x3x3x3xf32>
  %loss = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x3x3xf32>) -> tensor<f32>
  %g = train.broadcast %loss {dims = array<i64>} : (tensor<f32>) -> tensor<2x3x3x3xf32>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>, tensor<2x3x3x3xf32>, tensor<2x3x3x3xf32>) -> tensor<2x6x6x3xf32>
  %m = train.compare "gt" %r, %zeros : (tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xi1>
  %s = train.select %m, %d, %zeros : (tensor<2x6x6x3xi1>, tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  return %loss, %s : tensor<f32>, tensor<2x6x6x3xf32>
}

// -----

// Tests that where the ReLU's gradient has another part, its own slope stays.
// CHECK-LABEL: func.func @step
// CHECK: %[[R:.*]] = train.relu
// CHECK: %[[P:.*]], %[[PLACES:.*]] = train.max_pool_places %[[R]]
// CHECK: %[[D:.*]] = train.max_pool_places_grad %[[PLACES]]
// CHECK: train.add %[[D]]
// CHECK: train.compare "gt" %[[R]]
func.func @step(%x: tensor<2x6x6x3xf32>) -> (tensor<f32> {train.metric = "loss"}, tensor<2x6x6x3xf32>) {
  %zeros = train.constant dense<0.0> : tensor<2x6x6x3xf32>
  %r = train.relu %x : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>) -> tensor<2x3x3x3xf32>
  %loss = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x3x3xf32>) -> tensor<f32>
  %g = train.broadcast %loss {dims = array<i64>} : (tensor<f32>) -> tensor<2x3x3x3xf32>
  %h = train.broadcast %loss {dims = array<i64>} : (tensor<f32>) -> tensor<2x6x6x3xf32>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>, tensor<2x3x3x3xf32>, tensor<2x3x3x3xf32>) -> tensor<2x6x6x3xf32>
  %e = train.add %d, %h : (tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  %m = train.compare "gt" %r, %zeros : (tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xi1>
  %s = train.select %m, %e, %zeros : (tensor<2x6x6x3xi1>, tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  return %loss, %s : tensor<f32>, tensor<2x6x6x3xf32>
}

// -----

// Tests that an image that the backward reads otherwise is kept instead, and that
// a pool without a gradient stays as it is; or that both are kept, if that is
// asked for.
// ALWAYS: train.max_pool_places_grad
// ALWAYS: train.max_pool_places_grad
// ALWAYS: train.max_pool_places_grad
// ALWAYS: train.mul
// ALWAYS-LABEL: func.func @eval
// ALWAYS-NOT: places
// CHECK-LABEL: func.func @step
// CHECK-NOT: places
// CHECK: train.max_pool_grad
// CHECK-NOT: places
// CHECK-LABEL: func.func @eval
// CHECK: train.max_pool
// CHECK-NOT: places
func.func @step(%x: tensor<2x6x6x3xf32>) -> (tensor<f32> {train.metric = "loss"}, tensor<2x6x6x3xf32>) {
  %r = train.relu %x : (tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  %p = train.max_pool %r {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>) -> tensor<2x3x3x3xf32>
  %loss = train.reduce "sum" %p {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x3x3x3xf32>) -> tensor<f32>
  %g = train.broadcast %loss {dims = array<i64>} : (tensor<f32>) -> tensor<2x3x3x3xf32>
  %d = train.max_pool_grad %r, %p, %g {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>, tensor<2x3x3x3xf32>, tensor<2x3x3x3xf32>) -> tensor<2x6x6x3xf32>
  %s = train.mul %d, %r : (tensor<2x6x6x3xf32>, tensor<2x6x6x3xf32>) -> tensor<2x6x6x3xf32>
  return %loss, %s : tensor<f32>, tensor<2x6x6x3xf32>
}
func.func @eval(%x: tensor<2x6x6x3xf32>) -> (tensor<2x3x3x3xf32> {train.output = "y"}) {
  %p = train.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x6x3xf32>) -> tensor<2x3x3x3xf32>
  return %p : tensor<2x3x3x3xf32>
}
