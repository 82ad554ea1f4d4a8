// RUN: zc-opt %s --zc-recompute=policy=layer | FileCheck %s
// RUN: zc-opt %s --zc-recompute=policy=none | FileCheck %s --check-prefix=KEPT

!t = tensor<256xf32>

#layer0 = loc("n0"("layers.0"("Mul"("m.onnx":0:0))))
#layer1 = loc("n1"("layers.1"("Mul"("m.onnx":0:0))))

// Two layers, of which the first hands keys on round a ring of ranks.
module attributes {dist.mesh = #dist.mesh<sp=4>} {
  train.state @w "parameter" : !t

  // Tests that what a ring has ended with, made again, comes in one turn of as
  // many ranks from keys that are made again; kept, nothing runs again.
  // CHECK-LABEL: func.func @step
  // CHECK-COUNT-3: shift = 1 : i64
  // CHECK-NOT: recomputed
  // CHECK: train.neg
  // CHECK: %[[K:.*]] = train.fused(%arg0, %arg1) {recomputed}
  // CHECK: %[[END:.*]] = train.fused(%[[K]]) {library = "zc.collective", recomputed}
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: dist.send_receive {{.*}}shift = 3 : i64
  // CHECK-NOT: recomputed
  // CHECK: train.fused(%[[END]], %{{.*}}) {gradients
  // CHECK-NOT: dist.send_receive
  // CHECK: return
  // KEPT-LABEL: func.func @step
  // KEPT-COUNT-3: shift = 1 : i64
  // KEPT-NOT: {{recomputed|dist.send_receive}}
  // KEPT: return
  func.func @step(%x: !t {train.input = "x"}, %w: !t {train.state = @w})
      -> (!t {train.metric = "loss"}, !t {train.output = "g"}, !t {train.output = "d"}) {
    %k0 = train.fused(%x, %w) : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %k1 = train.fused(%k0) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %r = dist.send_receive %a {axes = ["sp"], dist.pass = "forward", shift = 1 : i64, traffic = "activations"} : (!t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %k2 = train.fused(%k1) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %r = dist.send_receive %a {axes = ["sp"], dist.pass = "forward", shift = 1 : i64, traffic = "activations"} : (!t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %k3 = train.fused(%k2) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %r = dist.send_receive %a {axes = ["sp"], dist.pass = "forward", shift = 1 : i64, traffic = "activations"} : (!t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %a0 = train.fused(%k0, %k1, %k2, %k3) {of_other_ranks} : (!t, !t, !t, !t) -> !t {
    ^bb0(%a: !t, %b: !t, %c: !t, %d: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer0)
      %q = train.mul %c, %d : (!t, !t) -> !t loc(#layer0)
      %s = train.mul %r, %q : (!t, !t) -> !t loc(#layer0)
      train.yield %s : !t
    }
    %h0 = train.fused(%a0) : (!t) -> !t {
    ^bb0(%a: !t):
      %r = train.tanh %a : (!t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %h1 = train.fused(%h0) : (!t) -> !t {
    ^bb0(%a: !t):
      %r = train.sqrt %a : (!t) -> !t loc(#layer1)
      train.yield %r : !t
    }
    %loss = train.fused(%h1) : (!t) -> !t {
    ^bb0(%a: !t):
      %r = train.neg %a : (!t) -> !t loc(#layer1)
      train.yield %r : !t
    }
    %g1 = train.fused(%h0, %h1) {gradients = array<i64: 0>} : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t
      train.yield %r : !t
    }
    %g0 = train.fused(%k3, %a0) {gradients = array<i64: 0>} : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t
      train.yield %r : !t
    }
    return %loss, %g1, %g0 : !t, !t, !t
  }
}
