// RUN: zc-opt %s --zc-encode-kept="encodings=fp8 all" | FileCheck %s

// Values that the forward makes, and what the backward computes of them in more
// than one op.

!t = tensor<64x64xf32>
!b = tensor<64x64xi1>
!s = tensor<64xf32>

train.state @w "parameter" : !t
train.state @loss_scale "scalar" : tensor<f32>

// CHECK-LABEL: func.func @step
func.func @step(%x: !t {train.input = "x"}, %w: !t {train.state = @w}, %scale: tensor<f32> {train.state = @loss_scale})
    -> (!s {train.metric = "loss"}, !t {train.state = @w}) {
  // Tests that a value stays that runs again to a sum whose sign is asked: x + |x w|
  // has the gradient sign(x w), and a sum of rounded terms may have another.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: train.abs
  %sum = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.abs %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one is kept in 8 bits whose own sign is asked where it has been moved.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>) {
  // CHECK: train.sqrt
  %moved = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.sqrt %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one stays of which the backward computes a power of e in three steps,
  // the first two of which read no gradient.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: train.cos
  %twice = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.cos %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one stays of which a region makes a gradient and, beside it, what a power
  // of e is taken of.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: train.sin
  %beside = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.sin %l : (!t) -> !t
    train.yield %0 : !t
  }
  %loss = train.fused(%sum, %moved, %twice, %beside) : (!t, !t, !t, !t) -> !s {
  ^bb0(%a: !t, %b: !t, %c: !t, %d: !t):
    %0 = train.reduce "sum" %a {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  %grad = train.fused(%scale) : (tensor<f32>) -> !t {
  ^bb0(%g: tensor<f32>):
    %0 = train.broadcast %g {dims = array<i64>} : (tensor<f32>) -> !t
    train.yield %0 : !t
  }
  %again = train.fused(%sum, %w) {library = "onednn.matmul", recomputed} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %g1 = train.fused(%grad, %again) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %zero = train.constant dense<0.0> : !t
    %0 = train.compare "gt" %l, %zero : (!t, !t) -> !b
    %1 = train.select %0, %g, %zero : (!b, !t, !t) -> !t
    train.yield %1 : !t
  }
  %turned = train.fused(%moved) {recomputed} : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.transpose %l {permutation = array<i64: 1, 0>} : (!t) -> !t
    train.yield %0 : !t
  }
  %g2 = train.fused(%g1, %turned) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %zero = train.constant dense<0.0> : !t
    %0 = train.compare "gt" %l, %zero : (!t, !t) -> !b
    %1 = train.select %0, %g, %zero : (!b, !t, !t) -> !t
    train.yield %1 : !t
  }
  %shift = train.fused(%twice) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.neg %l : (!t) -> !t
    train.yield %0 : !t
  }
  %shift_again = train.fused(%shift) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.neg %l : (!t) -> !t
    train.yield %0 : !t
  }
  %g3 = train.fused(%g2, %shift_again) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.exp %l : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %both:2 = train.fused(%g3, %beside) : (!t, !t) -> (!t, !t) {
  ^bb0(%g: !t, %l: !t):
    %0 = train.neg %l : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1, %0 : !t, !t
  }
  %g4 = train.fused(%both#0, %both#1) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.exp %l : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %g5 = train.fused(%g4) {gradients = array<i64: 0>} : (!t) -> !t {
  ^bb0(%g: !t):
    %0 = train.neg %g : (!t) -> !t
    train.yield %0 : !t
  }
  %u = train.fused(%w, %g5) : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.sub %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %loss, %u : !s, !t
}
