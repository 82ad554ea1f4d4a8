// RUN: zc-opt %s --zc-join-launches -split-input-file | FileCheck %s

// Tests that small launches wait for the first that needs one of them, that
// those which need nothing of one another then become one, each with the buffers
// it shares, that the others follow, and that what nobody needs runs at the end.
// CHECK-LABEL: sched.program @step
// CHECK: sched.library_call "dnn" "first"
// CHECK-NOT: sched.launch
// CHECK: sched.launch @joined_0 ins(%[[X:[0-9]+]], %[[Y:[0-9]+]], %[[W:[0-9]+]] : {{.*}}) outs(%[[A:[0-9]+]], %[[B:[0-9]+]], %[[W1:[0-9]+]] :
// CHECK-SAME: bytes = 1.920000e+03
// CHECK-SAME: flops = 4.800000e+02
// CHECK-SAME: label = "half a and 2 more"
// CHECK-NEXT: sched.launch @add ins(%[[A]], %[[B]] :
// CHECK-NEXT: sched.library_call "dnn" "second"
// CHECK-NEXT: sched.launch @half
// CHECK-NEXT: sched.output
// CHECK: sched.kernel @joined_0 attributes {shared = array<i64: 2, 2>} {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<160xf32>, %[[J:.*]]: tensor<160xf32>, %[[K:.*]]: tensor<160xf32>):
// CHECK-NEXT: %[[M:.*]] = train.sqrt %[[I]]
// CHECK-NEXT: %[[N:.*]] = train.sqrt %[[J]]
// CHECK-NEXT: %[[O:.*]] = train.exp %[[K]]
// CHECK-NEXT: train.yield %[[M]], %[[N]], %[[O]]
module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @w "parameter" : tensor<160xf32>
sched.kernel @half {
^bb0(%x: tensor<160xf32>):
  %0 = train.sqrt %x : (tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.kernel @update attributes {shared = array<i64: 0, 0>} {
^bb0(%x: tensor<160xf32>):
  %0 = train.exp %x : (tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.kernel @add {
^bb0(%x: tensor<160xf32>, %y: tensor<160xf32>):
  %0 = train.add %x, %y : (tensor<160xf32>, tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.program @step {
  %x = sched.input "x" : memref<160xf32>
  %y = sched.input "y" : memref<160xf32>
  %w = sched.state @w : memref<160xf32>
  %a = sched.alloc "activations" : memref<160xf32>
  sched.launch @half ins(%x : memref<160xf32>) outs(%a : memref<160xf32>) {label = "half a", bytes = 640.0 : f64, flops = 160.0 : f64}
  %w1 = sched.view %w : memref<160xf32> to memref<160xf32>
  sched.launch @update ins(%w : memref<160xf32>) outs(%w1 : memref<160xf32>) {bytes = 640.0 : f64, flops = 160.0 : f64}
  %p = sched.alloc "activations" : memref<160xf32>
  sched.library_call "dnn" "first" {} ins(%x : memref<160xf32>) outs(%p : memref<160xf32>)
  %b = sched.alloc "activations" : memref<160xf32>
  sched.launch @half ins(%y : memref<160xf32>) outs(%b : memref<160xf32>) {bytes = 640.0 : f64, flops = 160.0 : f64}
  %c = sched.alloc "activations" : memref<160xf32>
  sched.launch @add ins(%a, %b : memref<160xf32>, memref<160xf32>) outs(%c : memref<160xf32>) {bytes = 640.0 : f64}
  %d = sched.alloc "activations" : memref<160xf32>
  sched.launch @half ins(%c : memref<160xf32>) outs(%d : memref<160xf32>) {bytes = 640.0 : f64}
  %e = sched.alloc "activations" : memref<160xf32>
  sched.library_call "dnn" "second" {} ins(%c : memref<160xf32>) outs(%e : memref<160xf32>)
  sched.output "output" "d" %d : memref<160xf32>
  sched.output "output" "e" %e : memref<160xf32>
}
}

// -----

// Tests that a launch which moves much, one of a value in the second memory, and
// one that only a CPU would run stay where they are; that what a library writes
// over is read before.
// CHECK-LABEL: sched.program @stay
// CHECK: sched.launch @small {{.*}}1.000000e+07
// CHECK: sched.launch @small
// CHECK: sched.library_call "dnn" "any"
// CHECK: sched.launch @small
// CHECK-NEXT: sched.library_call "dnn" "over"
module attributes {sched.target = #sched.target<device = "cuda">} {
sched.kernel @small {
^bb0(%x: tensor<160xf32>):
  %0 = train.sqrt %x : (tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.program @stay {
  %x = sched.input "x" : memref<160xf32>
  %a = sched.alloc "activations" : memref<160xf32>
  sched.launch @small ins(%x : memref<160xf32>) outs(%a : memref<160xf32>) {bytes = 1.0e7 : f64}
  %b = sched.alloc "activations" {offload} : memref<160xf32>
  sched.launch @small ins(%x : memref<160xf32>) outs(%b : memref<160xf32>) {bytes = 640.0 : f64}
  %c = sched.alloc "activations" : memref<160xf32>
  sched.launch @small ins(%a : memref<160xf32>) outs(%c : memref<160xf32>) {bytes = 640.0 : f64}
  %d = sched.alloc "activations" : memref<160xf32>
  sched.library_call "dnn" "any" {} ins(%x : memref<160xf32>) outs(%d : memref<160xf32>)
  %a1 = sched.view %a : memref<160xf32> to memref<160xf32>
  sched.library_call "dnn" "over" {} ins(%d : memref<160xf32>) outs(%a1 : memref<160xf32>)
  sched.output "output" "c" %c : memref<160xf32>
}
}

// -----

// CHECK-LABEL: sched.program @on_cpu
// CHECK-COUNT-2: sched.launch @small
sched.kernel @small {
^bb0(%x: tensor<160xf32>):
  %0 = train.sqrt %x : (tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.program @on_cpu {
  %x = sched.input "x" : memref<160xf32>
  %a = sched.alloc "activations" : memref<160xf32>
  sched.launch @small ins(%x : memref<160xf32>) outs(%a : memref<160xf32>)
  %b = sched.alloc "activations" : memref<160xf32>
  sched.launch @small ins(%x : memref<160xf32>) outs(%b : memref<160xf32>)
}

// -----

// Tests that what computes for longer than a launch takes stays where it is,
// however few bytes it reads.
// CHECK-LABEL: sched.program @blocks
// CHECK: sched.launch @block
// CHECK: sched.library_call "dnn" "first"
// CHECK: sched.launch @block
// CHECK-NEXT: sched.output
module attributes {sched.target = #sched.target<device = "cuda">} {
sched.kernel @block {
^bb0(%x: tensor<160xf32>):
  %0 = train.sqrt %x : (tensor<160xf32>) -> tensor<160xf32>
  train.yield %0 : tensor<160xf32>
}
sched.program @blocks {
  %x = sched.input "x" : memref<160xf32>
  %a = sched.alloc "activations" : memref<160xf32>
  sched.launch @block ins(%x : memref<160xf32>) outs(%a : memref<160xf32>) {bytes = 640.0 : f64, flops = 1.0e12 : f64}
  %p = sched.alloc "activations" : memref<160xf32>
  sched.library_call "dnn" "first" {} ins(%x : memref<160xf32>) outs(%p : memref<160xf32>)
  %b = sched.alloc "activations" : memref<160xf32>
  sched.launch @block ins(%x : memref<160xf32>) outs(%b : memref<160xf32>) {bytes = 640.0 : f64, flops = 1.0e12 : f64}
  sched.output "output" "a" %a : memref<160xf32>
  sched.output "output" "b" %b : memref<160xf32>
  sched.output "output" "p" %p : memref<160xf32>
}
}
