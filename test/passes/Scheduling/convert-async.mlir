// RUN: zc-opt %s --zc-convert-to-sched | FileCheck %s

// Tests that an async collective is waited for in front of the first reader of
// its result, that nothing is written over what it may still send, and that a
// wait for a later one stands for both.
!t = tensor<16xf32>

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  // CHECK-LABEL: sched.program @step
  func.func @step(%x: !t {train.input = "x"}) -> (!t {train.output = "y"}) {
    // CHECK: sched.launch {{.*}} outs(%[[A:.*]] : memref<16xf32>)
    %a = train.fused(%x) : (!t) -> !t {
    ^bb0(%0: !t):
      %1 = train.tanh %0 : (!t) -> !t
      train.yield %1 : !t
    }
    // CHECK: %[[R:.*]] = sched.alloc
    // CHECK: sched.collective "all_reduce" ["dp"] "gradients" %[[A]] to %[[R]] {async
    %r = train.fused(%a) {async, library = "zc.collective"} : (!t) -> !t {
    ^bb0(%0: !t):
      %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients"} : (!t) -> !t
      train.yield %1 : !t
    }
    // The last reader of %a may not write over it yet.
    // CHECK-NOT: sched.wait
    // CHECK: %[[B:.*]] = sched.alloc
    // CHECK: sched.launch {{.*}} ins(%[[A]] : memref<16xf32>) outs(%[[B]] : memref<16xf32>)
    %b = train.fused(%a) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
    ^bb0(%0: !t):
      %1 = train.relu %0 : (!t) -> !t
      train.yield %1 : !t
    }
    // In place, for the stream runs one after another.
    // CHECK: %[[S:.*]] = sched.view %[[B]]
    // CHECK: sched.collective "all_reduce" ["dp"] "gradients" %[[B]] to %[[S]] {async
    %s = train.fused(%b) {async, library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
    ^bb0(%0: !t):
      %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients"} : (!t) -> !t
      train.yield %1 : !t
    }
    // CHECK: sched.launch
    %c = train.fused(%x) : (!t) -> !t {
    ^bb0(%0: !t):
      %1 = train.exp %0 : (!t) -> !t
      train.yield %1 : !t
    }
    // CHECK: sched.wait %[[S]] : memref<16xf32>
    // CHECK: sched.launch {{.*}} ins(%[[S]], %
    %d = train.fused(%s, %c) : (!t, !t) -> !t {
    ^bb0(%0: !t, %1: !t):
      %2 = train.add %0, %1 : (!t, !t) -> !t
      train.yield %2 : !t
    }
    // CHECK-NOT: sched.wait
    // CHECK: sched.output
    %e = train.fused(%r, %d) : (!t, !t) -> !t {
    ^bb0(%0: !t, %1: !t):
      %2 = train.add %0, %1 : (!t, !t) -> !t
      train.yield %2 : !t
    }
    return %e : !t
  }
}
