// RUN: zc-opt %s --zc-overlap-collectives | FileCheck %s
// RUN: zc-opt %s --zc-overlap-collectives=prefetch=2 | FileCheck %s --check-prefix=TWO
// RUN: zc-opt %s --zc-overlap-collectives=prefetch=0 | FileCheck %s --check-prefix=NONE

!t = tensor<1024x1024xf32>
!p = tensor<1048576xf32>
!s = tensor<524288xf32>
!k = tensor<1x8x2x4xf32>

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  train.state @w "parameter" : !t
  train.state @u "parameter" : !s
  train.state @v "parameter" : !s
  train.state @q "parameter" : !s

  // Tests that a reduction begins where its operand is whole, and that the
  // update which reads it lets another kernel and its reduction go ahead.
  // CHECK-LABEL: func.func @reduce
  func.func @reduce(%w: !t {train.state = @w}, %x: !t {train.input = "x"})
      -> (!t {train.state = @w}, !t {train.output = "y"}) {
    // CHECK: %[[G:.*]] = train.fused
    // CHECK: train.tanh
    // CHECK: %[[R:.*]] = train.fused(%[[G]]) {{.*}}async
    // CHECK: dist.all_reduce
    // CHECK: %[[H:.*]] = train.fused(%arg1)
    // CHECK: train.relu
    // CHECK: train.fused(%[[H]]) {{.*}}async
    // CHECK: dist.all_reduce
    // CHECK: train.fused(%arg0, %[[R]])
    // CHECK: train.sub
    %g = train.fused(%x) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.tanh %a : (!t) -> !t
      train.yield %0 : !t
    }
    %r = train.fused(%g) {library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_reduce %a {axes = ["dp"], traffic = "gradients"} : (!t) -> !t
      train.yield %0 : !t
    }
    %new = train.fused(%w, %r) : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %0 = train.sub %a, %b : (!t, !t) -> !t
      train.yield %0 : !t
    }
    %h = train.fused(%x) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.relu %a : (!t) -> !t
      train.yield %0 : !t
    }
    %y = train.fused(%h) {library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_reduce %a {axes = ["dp"], traffic = "activations"} : (!t) -> !t
      train.yield %0 : !t
    }
    return %new, %y : !t, !t
  }

  // Tests that a gather begins before what the gather before it brought is read,
  // and that the first, which nothing runs beside, is not async; with prefetch =
  // 2 two begin ahead, with 0 none.
  // CHECK-LABEL: func.func @gather
  // TWO-LABEL: func.func @gather
  // NONE-LABEL: func.func @gather
  func.func @gather(%u: !s {train.state = @u}, %v: !s {train.state = @v},
                    %q: !s {train.state = @q}, %x: !p {train.input = "x"})
      -> (!p {train.output = "y"}) {
    // CHECK: %[[U:.*]] = train.fused(%arg0) {library = "zc.collective"} :
    // CHECK: %[[V:.*]] = train.fused(%arg1) {{.*}}async
    // CHECK: %[[A:.*]] = train.fused(%[[U]], %arg3)
    // CHECK: %[[Q:.*]] = train.fused(%arg2) {{.*}}async
    // CHECK: %[[B:.*]] = train.fused(%[[V]], %[[A]])
    // CHECK: train.fused(%[[Q]], %[[B]])
    // TWO: train.fused(%arg0)
    // TWO: train.fused(%arg1)
    // TWO: train.fused(%arg2)
    // TWO: train.mul
    // NONE-NOT: async
    // NONE: train.mul
    // NONE: train.fused(%arg1)
    // NONE-NOT: async
    %0 = train.fused(%u) {library = "zc.collective"} : (!s) -> !p {
    ^bb0(%a: !s):
      %1 = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!s) -> !p
      train.yield %1 : !p
    }
    %a = train.fused(%0, %x) : (!p, !p) -> !p {
    ^bb0(%c: !p, %d: !p):
      %1 = train.mul %c, %d : (!p, !p) -> !p
      train.yield %1 : !p
    }
    %2 = train.fused(%v) {library = "zc.collective"} : (!s) -> !p {
    ^bb0(%c: !s):
      %1 = dist.all_gather %c {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!s) -> !p
      train.yield %1 : !p
    }
    %b = train.fused(%2, %a) : (!p, !p) -> !p {
    ^bb0(%c: !p, %d: !p):
      %1 = train.add %c, %d : (!p, !p) -> !p
      train.yield %1 : !p
    }
    %3 = train.fused(%q) {library = "zc.collective"} : (!s) -> !p {
    ^bb0(%c: !s):
      %1 = dist.all_gather %c {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!s) -> !p
      train.yield %1 : !p
    }
    %y = train.fused(%3, %b) : (!p, !p) -> !p {
    ^bb0(%c: !p, %d: !p):
      %1 = train.add %c, %d : (!p, !p) -> !p
      train.yield %1 : !p
    }
    return %y : !p
  }

  // Tests that keys which are handed on begin one block ahead, and not all at
  // once, whether a library computes the blocks or a kernel.
  // CHECK-LABEL: func.func @rotate
  // NONE-LABEL: func.func @rotate
  // CHECK: %[[K1:.*]] = train.fused(%arg1) {{.*}}library = "zc.collective"
  // CHECK: train.fused(%arg0, %arg1)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: train.attention
  // CHECK: train.neg
  // CHECK: %[[K2:.*]] = train.fused(%[[K1]]) {{.*}}library = "zc.collective"
  // CHECK: train.attention
  // CHECK: train.fused(%[[K2]])
  func.func @rotate(%q: !k {train.input = "q"}, %k: !k {train.input = "k"})
      -> (!k {train.output = "x"}, !k {train.output = "y"}, !k {train.output = "z"}) {
    %k1 = train.fused(%k) {library = "zc.collective"} : (!k) -> !k {
    ^bb0(%a: !k):
      %r = dist.send_receive %a {axes = ["dp"], shift = 1 : i64, traffic = "activations", dist.pass = "forward"} : (!k) -> !k
      train.yield %r : !k
    }
    %k2 = train.fused(%k1) {library = "zc.collective"} : (!k) -> !k {
    ^bb0(%a: !k):
      %r = dist.send_receive %a {axes = ["dp"], shift = 1 : i64, traffic = "activations", dist.pass = "forward"} : (!k) -> !k
      train.yield %r : !k
    }
    %x = train.fused(%q, %k) : (!k, !k) -> !k {
    ^bb0(%a: !k, %b: !k):
      %o, %s = train.attention %a, %b, %b {scale = 1.0 : f64} : (!k, !k, !k) -> (!k, tensor<1x2x8xf32>)
      train.yield %o : !k
    }
    %h1 = train.fused(%k1) : (!k) -> !k {
    ^bb0(%a: !k):
      %r = train.neg %a : (!k) -> !k
      train.yield %r : !k
    }
    %y = train.fused(%q, %h1) : (!k, !k) -> !k {
    ^bb0(%a: !k, %b: !k):
      %o, %s = train.attention %a, %b, %b {scale = 1.0 : f64} : (!k, !k, !k) -> (!k, tensor<1x2x8xf32>)
      train.yield %o : !k
    }
    %h2 = train.fused(%k2) : (!k) -> !k {
    ^bb0(%a: !k):
      %r = train.neg %a : (!k) -> !k
      train.yield %r : !k
    }
    %z = train.fused(%q, %h2) : (!k, !k) -> !k {
    ^bb0(%a: !k, %b: !k):
      %o, %s = train.attention %a, %b, %b {scale = 1.0 : f64} : (!k, !k, !k) -> (!k, tensor<1x2x8xf32>)
      train.yield %o : !k
    }
    return %x, %y, %z : !k, !k, !k
  }
}
