// RUN: zc-opt %s --zc-encode-kept="encodings=fp8 all" | FileCheck %s
// RUN: zc-opt %s --zc-encode-kept="encodings=bf16 all" | FileCheck %s --check-prefix=WIDE

// An exp and a tanh, in 32 and in 16 bits, and a value that a softmax of the
// backward reads.

!t = tensor<64x64xf32>
!h = tensor<128x64xbf16>
!s = tensor<64xf32>

train.state @w "parameter" : !t
train.state @v "parameter" : !h

// CHECK-LABEL: func.func @step
// WIDE-LABEL: func.func @step
func.func @step(%x: !t {train.input = "x"}, %y: !h {train.input = "y"}, %w: !t {train.state = @w}, %v: !h {train.state = @v})
    -> (!s {train.metric = "loss"}, !t {train.state = @w}, !h {train.state = @v}) {
  // CHECK: %[[E:.*]] = train.fused(%{{.*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = train.fused(%x) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.exp %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that 16 bits are halved, too, by way of 32; bf16 leaves them.
  // CHECK: train.fused(%{{.*}}) : (tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<128x64xf8E4M3FN>)
  // CHECK: train.tanh
  // CHECK: train.convert %{{.*}} : (tensor<128x64xbf16>) -> tensor<128x64xf32>
  // CHECK: train.convert %{{.*}} : (tensor<128x64xf32>) -> tensor<128x64xf8E4M3FN>
  // WIDE: train.fused(%{{.*}}) : (tensor<128x64xbf16>) -> tensor<128x64xbf16>
  %n = train.fused(%y) : (!h) -> !h {
  ^bb0(%l: !h):
    %0 = train.tanh %l : (!h) -> !h
    train.yield %0 : !h
  }
  // Tests that what a softmax of the backward reads stays: an error of a power
  // of e is a factor of the result. 16 bits are enough for it.
  // But its own factor is kept as the nearest number of E4M3, the
  // largest one where that does not reach, and none of 0 but for 0.
  // CHECK: %[[A:.*]]:2 = train.fused(%[[E]]) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf8E4M3FN>)
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<64x64xf32>):
  // CHECK: %[[ZERO:.*]] = train.constant dense<0.0
  // CHECK: %[[LEAST:.*]] = train.constant dense<0.001953125>
  // CHECK: %[[BELOW:.*]] = train.constant dense<-0.001953125>
  // CHECK: %[[IS_MORE:.*]] = train.compare "gt" %[[X]], %[[ZERO]]
  // CHECK: %[[IS_LESS:.*]] = train.compare "gt" %[[ZERO]], %[[X]]
  // CHECK: %[[MORE:.*]] = train.max %[[X]], %[[LEAST]]
  // CHECK: %[[LESS:.*]] = train.min %[[X]], %[[BELOW]]
  // CHECK: %[[OTHER:.*]] = train.select %[[IS_LESS]], %[[LESS]], %[[X]]
  // CHECK: %[[SIGNED:.*]] = train.select %[[IS_MORE]], %[[MORE]], %[[OTHER]]
  // CHECK: %[[HIGHEST:.*]] = train.constant dense<4.480000e+02>
  // CHECK: %[[LOWEST:.*]] = train.constant dense<-4.480000e+02>
  // CHECK: %[[MOST:.*]] = train.min %[[SIGNED]], %[[HIGHEST]]
  // CHECK: %[[KEPT:.*]] = train.max %[[MOST]], %[[LOWEST]]
  // CHECK: train.convert %[[KEPT]] : (tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN>
  // WIDE: train.fused(%{{.*}}) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>)
  %a = train.fused(%e) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.mul %l, %l : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %loss = train.fused(%a, %n) : (!t, !h) -> !s {
  ^bb0(%l: !t, %r: !h):
    %0 = train.reduce "sum" %l {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  // CHECK: train.fused(%{{.*}}, %[[A]]#0)
  // CHECK: train.softmax
  %p = train.fused(%loss, %a) : (!s, !t) -> !t {
  ^bb0(%g: !s, %l: !t):
    %0 = train.softmax %l {dim = 1 : i64} : (!t) -> !t
    %1 = train.broadcast %g {dims = array<i64: 0>} : (!s) -> !t
    %2 = train.mul %0, %1 : (!t, !t) -> !t
    train.yield %2 : !t
  }
  // Tests that the only op that needs a decoded value comes before others that
  // read its gradient, which make values when that has gone.
  // CHECK: %[[WHOLE:.*]] = train.fused(%[[A]]#1) {recomputed} : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  // CHECK: %[[G:.*]] = train.fused(%[[WHOLE]], %[[P:.*]]) {gradients = array<i64: 0>, library = "onednn.matmul"}
  // CHECK: train.fused(%[[P]], %{{.*}}) {library = "onednn.matmul"}
  %i = train.fused(%p, %w) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %q = train.fused(%e, %p) {gradients = array<i64: 0>, library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r {transpose_lhs} : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // CHECK: train.fused(%{{.*}}, %[[A]]#1) {gradients = array<i64: 0>}
  // CHECK: train.convert %{{.*}} : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  %d = train.fused(%i, %e) {gradients = array<i64: 0>} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.mul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // CHECK: train.convert %{{.*}} : (tensor<128x64xf8E4M3FN>) -> tensor<128x64xf32>
  // CHECK: train.convert %{{.*}} : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  %m = train.fused(%d, %n) {gradients = array<i64: 0>} : (!t, !h) -> !h {
  ^bb0(%l: !t, %r: !h):
    %0 = train.mul %r, %r : (!h, !h) -> !h
    train.yield %0 : !h
  }
  %u = train.fused(%w, %d, %q) : (!t, !t, !t) -> !t {
  ^bb0(%l: !t, %r: !t, %s: !t):
    %0 = train.sub %l, %r : (!t, !t) -> !t
    %1 = train.sub %0, %s : (!t, !t) -> !t
    train.yield %1 : !t
  }
  %z = train.fused(%v, %m) : (!h, !h) -> !h {
  ^bb0(%l: !h, %r: !h):
    %0 = train.sub %l, %r : (!h, !h) -> !h
    train.yield %0 : !h
  }
  return %loss, %u, %z : !s, !t, !h
}
