// RUN: zc-opt %s --zc-verify-collective-order --split-input-file --verify-diagnostics

// Tests that two roles which issue two collectives in different orders are
// refused: their ranks would wait for one another for ever.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  sched.program @step.first attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %y = sched.input "y" : memref<8xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    %s = sched.alloc "gradients" : memref<8xf32>
    // expected-note @+1 {{number 0 in @step.first}}
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %y to %s {async} : memref<8xf32> to memref<8xf32>
  }
  sched.program @step.last attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %y = sched.input "y" : memref<8xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    %s = sched.alloc "gradients" : memref<8xf32>
    // expected-error @+1 {{'sched.collective' op is number 0 along ["dp"] in @step.last, but other ranks issue another collective there}}
    sched.collective "all_reduce" ["dp"] "gradients" %y to %s {async} : memref<8xf32> to memref<8xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that a collective which only some ranks issue is refused.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  sched.program @step.first attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    // expected-error @+1 {{'sched.collective' op is issued by the ranks of one of @step.first and @step.last only}}
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r : memref<4xf32> to memref<4xf32>
  }
  sched.program @step.last attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    sched.copy %x to %r : memref<4xf32> to memref<4xf32>
  }
}
