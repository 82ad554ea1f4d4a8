// RUN: zc-opt %s --zc-order-instructions | FileCheck %s

!t = tensor<16xf32>

train.state @w "parameter" : !t
train.state @v "parameter" : !t

// Tests that the update of a state moves behind the last reader of its old value.
// CHECK-LABEL: func.func @update_after_last_read
func.func @update_after_last_read(
    %w: !t {train.state = @w}, %x: !t {train.input = "x"})
    -> (!t {train.state = @w}, !t {train.output = "y"}) {
  // CHECK: train.mul
  // CHECK: train.sub
  %new = train.fused(%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.sub %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %y = train.fused(%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.mul %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %new, %y : !t, !t
}

// Tests that readers of a view of the state count as readers.
// CHECK-LABEL: func.func @update_after_last_view
func.func @update_after_last_view(
    %w: !t {train.state = @w}, %x: !t {train.input = "x"})
    -> (!t {train.state = @w}, tensor<4x4xf32> {train.output = "y"}) {
  // CHECK: train.neg
  // CHECK: train.sub
  %new = train.fused(%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.sub %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %view = train.reshape %w : (!t) -> tensor<4x4xf32>
  %y = train.fused(%view) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %0 = train.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    train.yield %0 : tensor<4x4xf32>
  }
  return %new, %y : !t, tensor<4x4xf32>
}

// Tests that two updates that read each other's new value keep a legal order: one
// of them cannot come after the last reader of its old value.
// CHECK-LABEL: func.func @update_that_would_cycle
func.func @update_that_would_cycle(%w: !t {train.state = @w})
    -> (!t {train.state = @w}, !t {train.output = "y"}) {
  // CHECK: train.neg
  // CHECK: train.add
  %new = train.fused(%w) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.neg %a : (!t) -> !t
    train.yield %0 : !t
  }
  %y = train.fused(%w, %new) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.add %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %new, %y : !t, !t
}

// Tests that a gradient is applied as soon as it is whole, before the next one is
// computed.
// CHECK-LABEL: func.func @apply_gradients_early
func.func @apply_gradients_early(
    %w: !t {train.state = @w}, %v: !t {train.state = @v},
    %x: !t {train.input = "x"})
    -> (!t {train.state = @w}, !t {train.state = @v}) {
  // CHECK: train.exp
  // CHECK: train.sub
  // CHECK: train.tanh
  // CHECK: train.div
  %g1 = train.fused(%x) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.exp %a : (!t) -> !t
    train.yield %0 : !t
  }
  %g2 = train.fused(%x) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.tanh %a : (!t) -> !t
    train.yield %0 : !t
  }
  %w1 = train.fused(%w, %g1) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.sub %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %v1 = train.fused(%v, %g2) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.div %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %w1, %v1 : !t, !t
}

// Tests that an op on states alone waits for its reader when that saves memory.
// CHECK-LABEL: func.func @sink_sources
func.func @sink_sources(
    %w: !t {train.state = @w}, %x: tensor<64xf32> {train.input = "x"})
    -> (tensor<f32> {train.metric = "loss"}) {
  // CHECK: train.exp
  // CHECK: train.reduce
  // CHECK: train.neg
  // CHECK: train.mul
  %n = train.fused(%w) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.neg %a : (!t) -> !t
    train.yield %0 : !t
  }
  %e = train.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %0 = train.exp %a : (tensor<64xf32>) -> tensor<64xf32>
    train.yield %0 : tensor<64xf32>
  }
  %s = train.fused(%e) : (tensor<64xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<64xf32>):
    %0 = train.reduce "sum" %a {dims = array<i64: 0>} : (tensor<64xf32>) -> tensor<f32>
    train.yield %0 : tensor<f32>
  }
  %r = train.fused(%n, %s) : (!t, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: !t, %b: tensor<f32>):
    %0 = train.reduce "sum" %a {dims = array<i64: 0>} : (!t) -> tensor<f32>
    %1 = train.mul %0, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    train.yield %1 : tensor<f32>
  }
  return %r : tensor<f32>
}
