// RUN: zc-opt %s --zc-encode-kept="encodings=fp8 all" | FileCheck %s
// RUN: zc-opt %s --zc-encode-kept="encodings=fp16 all" | FileCheck %s --check-prefix=WIDE
// RUN: zc-opt %s --zc-encode-kept="encodings=fp16,fp8 all" | FileCheck %s --check-prefix=BOTH

// Eight values that the forward makes, each with a reader of its own in the
// backward.

!t = tensor<64x64xf32>
!b = tensor<64x64xi1>
!s = tensor<64xf32>

train.state @w "parameter" : !t
train.state @loss_scale "scalar" : tensor<f32>

// Sixteen bits suffice for all of them.
// WIDE-COUNT-8: -> (tensor<64x64xf32>, tensor<64x64xf16>)
// WIDE-NOT: -> (tensor<64x64xf32>, tensor<64x64xf16>)

// Tests that with both, 16 bits are for those that 8 do not suit.
// BOTH-COUNT-3: -> (tensor<64x64xf32>, tensor<64x64xf16>)
// BOTH: -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
// BOTH: -> (tensor<64x64xf32>, tensor<64x64xf16>)
// BOTH: -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
// BOTH: -> (tensor<64x64xf32>, tensor<64x64xf16>)
// BOTH: -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)

// CHECK-LABEL: func.func @step
func.func @step(%x: !t {train.input = "x"}, %w: !t {train.state = @w}, %scale: tensor<f32> {train.state = @loss_scale})
    -> (!s {train.metric = "loss"}, !t {train.state = @w}) {
  // Tests that a divisor stays, and what a logarithm is taken of: near 0, where
  // an error has no bound.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.abs
  %divisor = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.abs %l : (!t) -> !t
    train.yield %0 : !t
  }
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.sqrt
  %logarithm = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.sqrt %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that a value stays that is compared with a bound.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.neg
  %clipped = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.neg %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one is kept in 8 bits, of which only the sign is asked.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
  // CHECK: train.relu
  %sign = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.relu %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one stays of which an op that runs again makes the input of a
  // softmax, through two of them and as another shape.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.tanh
  %boundary = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.tanh %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that such a one is kept in 8 bits whose products alone are asked for.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
  // CHECK: train.sin
  %products = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.sin %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that one stays of which the backward computes a power of e in two
  // steps, the first of which makes no gradient.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.cos
  %shifted = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.cos %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that of a product with a gradient no more is asked.
  // CHECK: train.fused(%{{[a-z0-9]*}}) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
  // CHECK: train.erf
  %factor = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.erf %l : (!t) -> !t
    train.yield %0 : !t
  }
  %loss = train.fused(%divisor, %logarithm, %clipped, %sign, %boundary, %products, %shifted, %factor)
      : (!t, !t, !t, !t, !t, !t, !t, !t) -> !s {
  ^bb0(%a: !t, %b: !t, %c: !t, %d: !t, %e: !t, %f: !t, %g: !t, %h: !t):
    %0 = train.reduce "sum" %a {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  %grad = train.fused(%scale) : (tensor<f32>) -> !t {
  ^bb0(%g: tensor<f32>):
    %0 = train.broadcast %g {dims = array<i64>} : (tensor<f32>) -> !t
    train.yield %0 : !t
  }
  %g0 = train.fused(%grad, %divisor) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.div %g, %l : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %g1 = train.fused(%g0, %logarithm) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.log %l : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %g2 = train.fused(%g1, %clipped) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %six = train.constant dense<6.0> : !t
    %zero = train.constant dense<0.0> : !t
    %0 = train.compare "lt" %l, %six : (!t, !t) -> !b
    %1 = train.select %0, %g, %zero : (!b, !t, !t) -> !t
    train.yield %1 : !t
  }
  %g3 = train.fused(%g2, %sign) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %zero = train.constant dense<0.0> : !t
    %0 = train.compare "gt" %l, %zero : (!t, !t) -> !b
    %1 = train.select %0, %g, %zero : (!b, !t, !t) -> !t
    train.yield %1 : !t
  }
  %again = train.fused(%boundary, %w) {library = "onednn.matmul", recomputed} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %folded = train.reshape %again : (!t) -> tensor<4096xf32>
  %scaled = train.fused(%folded) {recomputed} : (tensor<4096xf32>) -> !t {
  ^bb0(%l: tensor<4096xf32>):
    %0 = train.reshape %l : (tensor<4096xf32>) -> !t
    train.yield %0 : !t
  }
  %g4 = train.fused(%g3, %scaled) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.softmax %l {dim = 1 : i64} : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %product = train.fused(%products, %w) {library = "onednn.matmul", recomputed} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %g5 = train.fused(%g4, %product) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.mul %g, %l : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %shift = train.fused(%shifted) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.neg %l : (!t) -> !t
    train.yield %0 : !t
  }
  %g6 = train.fused(%g5, %shift) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.exp %l : (!t) -> !t
    %1 = train.mul %g, %0 : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %g7 = train.fused(%g6, %factor) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %0 = train.mul %g, %l : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %g8 = train.fused(%g7) {gradients = array<i64: 0>} : (!t) -> !t {
  ^bb0(%g: !t):
    %0 = train.softmax %g {dim = 1 : i64} : (!t) -> !t
    train.yield %0 : !t
  }
  %u = train.fused(%w, %g8) : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.sub %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %loss, %u : !s, !t
}
