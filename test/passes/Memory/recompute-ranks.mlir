// RUN: zc-opt %s --zc-recompute=policy=layer | FileCheck %s

!t = tensor<256xf32>
!s = tensor<128xf32>

#layer0 = loc("n0"("layers.0"("Mul"("m.onnx":0:0))))
#layer1 = loc("n1"("layers.1"("Mul"("m.onnx":0:0))))

// Two layers, of which the first has weights that ranks divide, and values that
// are made of other ranks' tensors.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  train.state @w0 "parameter" : !s
  train.state @w1 "parameter" : !s

  // Tests that ops of weights alone, in front of all, begin no layers; that what
  // is made of tensors of other ranks is kept, also if only the backward reads
  // it; and that what runs again reads the backward's own gather.
  // CHECK-LABEL: func.func @step
  // CHECK: train.convert
  // CHECK: train.convert
  // CHECK: dist.pass = "forward"
  // CHECK: train.fused(%{{.*}}) {of_other_ranks}
  // CHECK: %[[S:.*]] = train.fused(%{{.*}}) {of_other_ranks}
  // CHECK-NOT: {{[{ ]}}recomputed
  // CHECK: train.neg
  // CHECK-NOT: {{[{ ]}}recomputed
  // CHECK: %[[W:.*]] = train.fused(%arg1) {library = "zc.collective"}
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: dist.pass = "backward"
  // CHECK: %[[M:.*]] = train.fused(%arg0, %[[W]]) {recomputed}
  // CHECK-NOT: {{[{ ]}}recomputed
  // CHECK: train.fused(%[[M]], %[[S]], %[[W]])
  // CHECK-NOT: dist.all_gather
  // CHECK: return
  func.func @step(%x: !t {train.input = "x"}, %w0: !s {train.state = @w0}, %w1: !s {train.state = @w1})
      -> (!t {train.metric = "loss"}, !t {train.output = "g"}, !t {train.output = "d"}) {
    %v0 = train.fused(%w0) : (!s) -> tensor<128xbf16> {
    ^bb0(%a: !s):
      %r = train.convert %a : (!s) -> tensor<128xbf16> loc(#layer0)
      train.yield %r : tensor<128xbf16>
    }
    %v1 = train.fused(%w1) : (!s) -> tensor<128xbf16> {
    ^bb0(%a: !s):
      %r = train.convert %a : (!s) -> tensor<128xbf16> loc(#layer1)
      train.yield %r : tensor<128xbf16>
    }
    %u0 = train.fused(%w0) {library = "zc.collective"} : (!s) -> !t {
    ^bb0(%a: !s):
      %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, dist.pass = "forward", traffic = "parameters"} : (!s) -> !t
      train.yield %r : !t
    }
    %m0 = train.fused(%x, %u0) : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %a0 = train.fused(%m0) {of_other_ranks} : (!t) -> !t {
    ^bb0(%a: !t):
      %r = train.exp %a : (!t) -> !t loc(#layer0)
      train.yield %r : !t
    }
    %s0 = train.fused(%m0) {of_other_ranks} : (!t) -> !t {
    ^bb0(%a: !t):
      %r = train.log %a : (!t) -> !t loc(#layer0)
      train.yield %r : !t
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
    %t1 = train.fused(%h0, %h1) {gradients = array<i64: 0>} : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t
      train.yield %r : !t
    }
    %p0 = train.fused(%w0) {library = "zc.collective"} : (!s) -> !t {
    ^bb0(%a: !s):
      %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, dist.pass = "backward", traffic = "parameters"} : (!s) -> !t
      train.yield %r : !t
    }
    %t0 = train.fused(%m0, %s0, %p0) {gradients = array<i64: 0>} : (!t, !t, !t) -> !t {
    ^bb0(%a: !t, %b: !t, %c: !t):
      %r = train.mul %a, %b : (!t, !t) -> !t
      %q = train.mul %r, %c : (!t, !t) -> !t
      train.yield %q : !t
    }
    return %loss, %t1, %t0 : !t, !t, !t
  }
}
