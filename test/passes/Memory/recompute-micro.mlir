// RUN: zc-opt %s --zc-recompute=policy=layer | FileCheck %s

// Two layers of a micro-batch, whose gradients are added to states: what leads
// there is the backward, though none of it is marked as a gradient.

!t = tensor<256xf32>

#layer0 = loc("n0"("layers.0"("Mul"("m.onnx":0:0))))
#layer1 = loc("n1"("layers.1"("Mul"("m.onnx":0:0))))

train.state @w0 "parameter" : !t
train.state @w1 "parameter" : !t
train.state @accumulated.loss "accumulator" : !t
train.state @accumulated.loss_count "accumulator" : !t
train.state @accumulated.w0 "accumulator" : !t
train.state @accumulated.w1 "accumulator" : !t

// CHECK: module attributes {train.recomputed_work = array<f64: 1.000000e+00,
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<256xf32> {train.input = "x"}, %[[W0:[a-z0-9]*]]: tensor<256xf32> {train.state = @w0}
// CHECK: %[[A0:.*]] = train.fused(%[[X]], %[[W0]])
// CHECK: %[[H0:.*]] = train.fused(%[[A0]])
// CHECK: train.exp
// CHECK: train.add
// CHECK: train.add
// CHECK: train.fused(%{{.*}}, %[[H0]],
// CHECK: %[[AGAIN:.*]] = train.fused(%[[X]], %[[W0]]) {{{.*}}recomputed
// CHECK: train.fused(%{{.*}}, %[[AGAIN]],
// CHECK: return
func.func @micro(%x: !t {train.input = "x"}, %w0: !t {train.state = @w0},
    %w1: !t {train.state = @w1}, %loss: !t {train.state = @accumulated.loss},
    %count: !t {train.state = @accumulated.loss_count},
    %s0: !t {train.state = @accumulated.w0}, %s1: !t {train.state = @accumulated.w1})
    -> (!t {train.state = @accumulated.loss}, !t {train.state = @accumulated.loss_count},
        !t {train.state = @accumulated.w0}, !t {train.state = @accumulated.w1}) {
  %a0 = train.fused(%x, %w0) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  %h0 = train.fused(%a0) : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.exp %a : (!t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  %a1 = train.fused(%h0, %w1) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %l = train.fused(%loss, %a1) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %r = train.add %a, %b : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  // How many losses there are depends on a value of the forward, too.
  %c = train.fused(%count, %a1) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %r = train.add %a, %b : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %g1 = train.fused(%a1, %h0, %s1) : (!t, !t, !t) -> !t {
  ^bb0(%a: !t, %b: !t, %s: !t):
    %p = train.mul %a, %b : (!t, !t) -> !t loc(#layer1)
    %r = train.add %s, %p : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %d = train.fused(%a1, %w1) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %g0 = train.fused(%d, %a0, %s0) : (!t, !t, !t) -> !t {
  ^bb0(%a: !t, %b: !t, %s: !t):
    %p = train.mul %a, %b : (!t, !t) -> !t loc(#layer0)
    %r = train.add %s, %p : (!t, !t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  return %l, %c, %g0, %g1 : !t, !t, !t, !t
}
