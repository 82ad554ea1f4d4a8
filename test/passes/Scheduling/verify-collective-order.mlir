// RUN: zc-opt %s --zc-verify-collective-order | FileCheck %s

// Tests that groups of ranks along different axes, and streams, have orders of
// their own, and that programs which are no roles of one are not compared.
// CHECK-LABEL: sched.program @step.first
module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  sched.program @step.first attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    %s = sched.alloc "activations" : memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["tp"] "activations" %x to %s : memref<4xf32> to memref<4xf32>
  }
  sched.program @step.last attributes {role_of = "step"} {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    %s = sched.alloc "activations" : memref<4xf32>
    sched.collective "all_reduce" ["tp"] "activations" %x to %s : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
  }
  sched.program @eval {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "activations" : memref<4xf32>
    sched.copy %x to %r : memref<4xf32> to memref<4xf32>
  }
}
