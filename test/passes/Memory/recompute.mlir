// RUN: zc-opt %s --zc-recompute=policy=layer | FileCheck %s --check-prefixes=CHECK,LAYER
// RUN: zc-opt %s --zc-recompute=policy=sqrt | FileCheck %s --check-prefixes=CHECK,SQRT
// RUN: zc-opt %s --zc-recompute=policy=selective | FileCheck %s --check-prefixes=CHECK,SELECTIVE

// RUN: zc-opt %s --zc-recompute="policy=auto budget=17000" | FileCheck %s --check-prefix=ENOUGH
// RUN: zc-opt %s --zc-recompute="policy=auto budget=15500" | FileCheck %s --check-prefix=TIGHT

// Four layers, h_i = exp(tanh(h_{i-1} w_i)), each in a module of its own; the
// backward reads h_i and tanh(...).

!t = tensor<256xf32>

#layer0 = loc("n0"("layers.0"("Mul"("m.onnx":0:0))))
#layer1 = loc("n1"("layers.1"("Mul"("m.onnx":0:0))))
#layer2 = loc("n2"("layers.2"("Mul"("m.onnx":0:0))))
#layer3 = loc("n3"("layers.3"("Mul"("m.onnx":0:0))))

train.state @w0 "parameter" : !t
train.state @w1 "parameter" : !t
train.state @w2 "parameter" : !t
train.state @w3 "parameter" : !t

// Tests what is kept: what crosses between layers; between two segments of
// them; what the library computes. A recomputed op stands before its first
// reader, and the last layer, whose backward comes at once, is never computed
// again.
// LAYER: module attributes {train.recomputed_work = array<f64: 6.000000e+00,
// SQRT: module attributes {train.recomputed_work = array<f64: 5.000000e+00,
// SELECTIVE: module attributes {train.recomputed_work = array<f64: 6.000000e+00,

// Tests that with a budget nothing runs again that need not.
// ENOUGH: module attributes {train.recomputed_work = array<f64: 0.000000e+00,
// TIGHT: module attributes {train.recomputed_work = array<f64: 1.000000e+00,

// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<256xf32> {{.*}}, %[[W0:.*]]: tensor<256xf32> {train.state = @w0}
// CHECK-COUNT-4: train.tanh
// CHECK: train.neg
// CHECK: train.sub

// LAYER: %[[A2:.*]] = train.fused(%[[H1:.*]], %{{.*}}) {library
// LAYER: %[[B2:.*]] = train.fused(%[[A2]])
// LAYER: train.tanh
// LAYER: train.fused(%{{.*}}, %[[B2]])
// LAYER: %[[A1:.*]] = train.fused(%[[H0:.*]], %{{.*}}) {library
// LAYER: %[[B1:.*]] = train.fused(%[[A1]])
// LAYER: train.fused(%{{.*}}, %[[B1]])
// LAYER: train.fused(%[[X]], %[[W0]]) {library

// SQRT-NOT: library
// SQRT: %[[A0:.*]] = train.fused(%[[X]], %[[W0]]) {library
// SQRT: %[[B0:.*]] = train.fused(%[[A0]])
// SQRT: %[[H0:.*]] = train.fused(%[[B0]])
// SQRT: %[[A1:.*]] = train.fused(%[[H0]], %{{.*}}) {library
// SQRT: train.fused(%[[A1]])
// SQRT-NOT: library

// SELECTIVE-NOT: library
// SELECTIVE-COUNT-3: train.exp
// SELECTIVE-NOT: train.exp
// CHECK: return
func.func @step(%h: !t {train.input = "x"},
    %w0: !t {train.state = @w0}, %w1: !t {train.state = @w1}, %w2: !t {train.state = @w2}, %w3: !t {train.state = @w3})
    -> (!t {train.metric = "loss"},
        !t {train.state = @w0}, !t {train.state = @w1}, !t {train.state = @w2}, !t {train.state = @w3}) {
  %a0 = train.fused(%h, %w0) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  %b0 = train.fused(%a0) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.tanh %x : (!t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  %h0 = train.fused(%b0) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.exp %x : (!t) -> !t loc(#layer0)
    train.yield %r : !t
  }
  %a1 = train.fused(%h0, %w1) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %b1 = train.fused(%a1) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.tanh %x : (!t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %h1 = train.fused(%b1) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.exp %x : (!t) -> !t loc(#layer1)
    train.yield %r : !t
  }
  %a2 = train.fused(%h1, %w2) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t loc(#layer2)
    train.yield %r : !t
  }
  %b2 = train.fused(%a2) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.tanh %x : (!t) -> !t loc(#layer2)
    train.yield %r : !t
  }
  %h2 = train.fused(%b2) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.exp %x : (!t) -> !t loc(#layer2)
    train.yield %r : !t
  }
  %a3 = train.fused(%h2, %w3) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t loc(#layer3)
    train.yield %r : !t
  }
  %b3 = train.fused(%a3) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.tanh %x : (!t) -> !t loc(#layer3)
    train.yield %r : !t
  }
  %h3 = train.fused(%b3) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.exp %x : (!t) -> !t loc(#layer3)
    train.yield %r : !t
  }
  %loss = train.fused(%h3) : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.neg %x : (!t) -> !t
    train.yield %r : !t
  }
  %dh3 = train.fused(%loss, %h3) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %db3 = train.fused(%dh3, %h3) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %da3 = train.fused(%db3, %b3) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %g3 = train.fused(%da3, %h2) {gradients = array<i64: 0>} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %n3 = train.fused(%w3, %g3) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %dh2 = train.fused(%da3, %w3) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %db2 = train.fused(%dh2, %h2) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %da2 = train.fused(%db2, %b2) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %g2 = train.fused(%da2, %h1) {gradients = array<i64: 0>} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %n2 = train.fused(%w2, %g2) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %dh1 = train.fused(%da2, %w2) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %db1 = train.fused(%dh1, %h1) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %da1 = train.fused(%db1, %b1) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %g1 = train.fused(%da1, %h0) {gradients = array<i64: 0>} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %n1 = train.fused(%w1, %g1) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %dh0 = train.fused(%da1, %w1) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %db0 = train.fused(%dh0, %h0) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %da0 = train.fused(%db0, %b0) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %g0 = train.fused(%da0, %h) {gradients = array<i64: 0>} : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %n0 = train.fused(%w0, %g0) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.sub %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  return %loss, %n0, %n1, %n2, %n3 : !t, !t, !t, !t, !t
}
