// RUN: zc-opt %s --zc-assign-offsets --zc-verify-offsets --split-input-file | FileCheck %s

// Tests that states follow one another in the persistent region, aligned.
// CHECK: module attributes {sched.persistent_bytes = 192 : i64}
module {
  // CHECK: train.state @a {{.*}} {offset = 0 : i64}
  train.state @a "parameter" : tensor<17xf32>
  // CHECK: train.state @b {{.*}} {offset = 128 : i64}
  train.state @b "scalar" : tensor<f32>
}

// -----

// Tests that buffers that are never live together share bytes.
sched.kernel @k {
^bb0(%a: tensor<16xf32>):
  train.yield %a : tensor<16xf32>
}
// CHECK-LABEL: sched.program @share
// CHECK-SAME: transient_bytes = 128 : i64
sched.program @share {
  // CHECK: sched.input "x" {offset = [[FIRST:.*]] : i64}
  %x = sched.input "x" : memref<16xf32>
  // CHECK: sched.alloc "activations" {offset = [[SECOND:.*]] : i64}
  %a = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  // CHECK: sched.alloc "activations" {offset = [[FIRST]] : i64}
  %b = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  // CHECK: sched.alloc "activations" {offset = [[SECOND]] : i64}
  %c = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%b : memref<16xf32>) outs(%c : memref<16xf32>)
  sched.output "output" "y" %c : memref<16xf32>
}

// Tests that an input is live from the start, whenever it is read, and an output to
// the end.
// CHECK-LABEL: sched.program @inputs_and_outputs
// CHECK-SAME: transient_bytes = 256 : i64
sched.program @inputs_and_outputs {
  %x = sched.input "x" : memref<16xf32>
  %y = sched.input "y" : memref<16xf32>
  %a = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%y : memref<16xf32>) outs(%b : memref<16xf32>)
  %c = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%b : memref<16xf32>) outs(%c : memref<16xf32>)
  %d = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%c : memref<16xf32>) outs(%d : memref<16xf32>)
  sched.output "output" "a" %a : memref<16xf32>
  sched.output "output" "b" %b : memref<16xf32>
  sched.output "output" "d" %d : memref<16xf32>
}

// Tests that a view keeps its root alive.
// CHECK-LABEL: sched.program @views
// CHECK-SAME: transient_bytes = 192 : i64
sched.program @views {
  %x = sched.input "x" : memref<4x4xf32>
  %v = sched.view %x : memref<4x4xf32> to memref<16xf32>
  %a = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%v : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = sched.alloc "activations" : memref<16xf32>
  sched.launch @k ins(%v : memref<16xf32>) outs(%b : memref<16xf32>)
  sched.output "output" "a" %a : memref<16xf32>
  sched.output "output" "b" %b : memref<16xf32>
}
