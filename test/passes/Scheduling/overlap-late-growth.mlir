// RUN: zc-opt %s --zc-overlap-collectives | FileCheck %s

!h = tensor<1024x1024xbf16>
!t = tensor<1024x1024xf32>

module attributes {dist.mesh = #dist.mesh<tp=2>} {
  // Tests that a kept value is widened where the backward reads it, not while a
  // sum of the forward is on its way: it would be kept as float32. Ops that
  // make nothing larger do go ahead.
  // CHECK-LABEL: func.func @widened
  // CHECK: train.matmul
  // CHECK: dist.all_reduce
  // CHECK: train.neg
  // CHECK: train.relu
  // CHECK: train.matmul
  // CHECK: train.convert
  // CHECK: train.tanh
  func.func @widened(%x: !h {train.input = "x"}, %k: !h {train.input = "k"})
      -> (!t {train.output = "y"}, !h {train.output = "z"}, !h {train.output = "p"}) {
    %q = train.fused(%x) : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.exp %a : (!h) -> !h
      train.yield %0 : !h
    }
    %m = train.fused(%q) {library = "onednn.matmul"} : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.matmul %a, %a : (!h, !h) -> !h
      train.yield %0 : !h
    }
    %r = train.fused(%m) {library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = dist.all_reduce %a {axes = ["tp"], traffic = "activations"} : (!h) -> !h
      train.yield %0 : !h
    }
    %s = train.fused(%r) : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.relu %a : (!h) -> !h
      train.yield %0 : !h
    }
    %p = train.fused(%s) {library = "onednn.matmul"} : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.matmul %a, %a : (!h, !h) -> !h
      train.yield %0 : !h
    }
    %w = train.fused(%q) : (!h) -> !t {
    ^bb0(%a: !h):
      %0 = train.convert %a : (!h) -> !t
      train.yield %0 : !t
    }
    %y = train.fused(%w) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.tanh %a : (!t) -> !t
      train.yield %0 : !t
    }
    %z = train.fused(%m) : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.neg %a : (!h) -> !h
      train.yield %0 : !h
    }
    return %y, %z, %p : !t, !h, !h
  }

  // Tests that the forward's own ops, and those of values that the backward has
  // computed, go ahead though they make something larger.
  // CHECK-LABEL: func.func @ahead
  // CHECK: dist.all_reduce
  // CHECK: train.convert
  // CHECK: train.relu
  func.func @ahead(%x: !h {train.input = "x"})
      -> (!t {train.metric = "loss"}, !h {train.output = "p"}) {
    %q = train.fused(%x) : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.exp %a : (!h) -> !h
      train.yield %0 : !h
    }
    %m = train.fused(%q) {library = "onednn.matmul"} : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.matmul %a, %a : (!h, !h) -> !h
      train.yield %0 : !h
    }
    %r = train.fused(%m) {library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = dist.all_reduce %a {axes = ["tp"], traffic = "activations"} : (!h) -> !h
      train.yield %0 : !h
    }
    %s = train.fused(%r) : (!h) -> !h {
    ^bb0(%a: !h):
      %0 = train.relu %a : (!h) -> !h
      train.yield %0 : !h
    }
    %w = train.fused(%q) : (!h) -> !t {
    ^bb0(%a: !h):
      %0 = train.convert %a : (!h) -> !t
      train.yield %0 : !t
    }
    return %w, %s : !t, !h
  }
}
