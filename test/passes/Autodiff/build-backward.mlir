// RUN: zc-opt %s --split-input-file --zc-build-backward | FileCheck %s

// Tests that gradients flow to parameters alone, never to data or constants, and
// that two uses of a parameter add up.
train.state @w "parameter" : tensor<4x4xf32>
train.state @frozen "constant" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"}, tensor<4x4xf32> {train.gradient = @w})
// CHECK: %[[FIRST:.*]] = train.matmul %[[X:.*]], %{{.*}} : (tensor<8x4xf32>
// CHECK: %[[DY:.*]] = train.broadcast
// CHECK: %[[DW2:.*]] = train.matmul %{{.*}}, %[[DY]] {transpose_lhs}
// CHECK: %[[DW1:.*]] = train.matmul %[[X]], %{{.*}} {transpose_lhs}
// CHECK: %[[DW:.*]] = train.add %[[DW2]], %[[DW1]]
// CHECK: return %{{.*}}, %[[DW]]
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %frozen: tensor<4x4xf32> {train.state = @frozen},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %0, %frozen : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %1, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Tests that a parameter the loss does not depend on has no gradient.
train.state @a "parameter" : tensor<4xf32>
train.state @b "parameter" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: {train.gradient = @a})
// CHECK-NOT: train.gradient = @b
func.func @step(%a: tensor<4xf32> {train.state = @a}, %b: tensor<4xf32> {train.state = @b})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.reduce "sum" %a {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Tests that no gradient flows behind a stop, which is gone afterwards.
train.state @a "parameter" : tensor<4xf32>
train.state @b "parameter" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: -> (tensor<f32> {train.metric = "loss"}, tensor<4xf32> {train.gradient = @b})
// CHECK-NOT: stop_gradient
func.func @step(%a: tensor<4xf32> {train.state = @a},
    %b: tensor<4xf32> {train.state = @b}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.stop_gradient %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.mul %1, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
