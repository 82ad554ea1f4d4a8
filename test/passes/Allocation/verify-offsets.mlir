// RUN: zc-opt %s --zc-verify-offsets | FileCheck %s

// Tests that buffers may share bytes one after the other, that an op may work in
// place, and that a state may be overwritten after its last reader.
module attributes {sched.persistent_bytes = 64 : i64} {
  train.state @w "parameter" : tensor<4xf32> {offset = 0 : i64}
  sched.kernel @k attributes {shared = array<i64: 0, 0>} {
  ^bb0(%a: tensor<4xf32>):
    train.yield %a : tensor<4xf32>
  }
  // CHECK: sched.program @step
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %w = sched.state @w : memref<4xf32>
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %a = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
    %b = sched.view %a : memref<4xf32> to memref<4xf32>
    sched.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    %c = sched.alloc "activations" {offset = 0 : i64} : memref<4xf32>
    sched.copy %w to %c : memref<4xf32> to memref<4xf32>
    %new = sched.view %w : memref<4xf32> to memref<4xf32>
    sched.copy %b to %new : memref<4xf32> to memref<4xf32>
    sched.output "output" "c" %c : memref<4xf32>
    sched.output "output" "new" %new : memref<4xf32>
  }

  // Behind the wait, the bytes of what was sent are free.
  // CHECK: sched.program @reduce
  sched.program @reduce attributes {transient_bytes = 192 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %a = sched.alloc "gradients" {offset = 64 : i64} : memref<4xf32>
    %r = sched.alloc "gradients" {offset = 128 : i64} : memref<4xf32>
    %b = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %a to %r {async} : memref<4xf32> to memref<4xf32>
    sched.wait %r : memref<4xf32>
    sched.copy %x to %b : memref<4xf32> to memref<4xf32>
    sched.output "output" "r" %r : memref<4xf32>
    sched.output "output" "b" %b : memref<4xf32>
  }
}
