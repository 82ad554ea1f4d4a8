// RUN: zc-opt %s --zc-offload -split-input-file | FileCheck %s

// The same program for a CPU and for a GPU, whose kernels are quicker by more
// than its copies are: what comes back must be on its way earlier.

sched.kernel @exp {
^bb0(%x: tensor<1024xf32>):
  %y = train.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %y : tensor<1024xf32>
}
sched.kernel @add {
^bb0(%x: tensor<1024xf32>, %y: tensor<1024xf32>):
  %z = train.add %x, %y : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %z : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @cpu
// CHECK: label = "fetch
// CHECK-COUNT-1: sched.launch @exp
// CHECK-NOT: sched.launch
// CHECK: sched.wait
// CHECK: sched.launch @add
sched.program @cpu {
  %x = sched.input "x" : memref<1024xf32>
  %a = sched.alloc "activations" {offload} : memref<1024xf32>
  sched.launch @exp ins(%x : memref<1024xf32>) outs(%a : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %b = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %c = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%b : memref<1024xf32>) outs(%c : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %d = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%c : memref<1024xf32>) outs(%d : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %e = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%d : memref<1024xf32>) outs(%e : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %f = sched.alloc "activations" : memref<1024xf32>
  sched.launch @add ins(%e, %a : memref<1024xf32>, memref<1024xf32>) outs(%f : memref<1024xf32>) {bytes = 2.0e7 : f64}
  sched.output "output" "f" %f : memref<1024xf32>
}

// -----

module attributes {sched.target = #sched.target<device = "cuda">} {
sched.kernel @exp {
^bb0(%x: tensor<1024xf32>):
  %y = train.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %y : tensor<1024xf32>
}
sched.kernel @add {
^bb0(%x: tensor<1024xf32>, %y: tensor<1024xf32>):
  %z = train.add %x, %y : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %z : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @gpu
// CHECK: label = "fetch
// CHECK-COUNT-2: sched.launch @exp
// CHECK-NOT: sched.launch
// CHECK: sched.wait
// CHECK: sched.launch @add
sched.program @gpu {
  %x = sched.input "x" : memref<1024xf32>
  %a = sched.alloc "activations" {offload} : memref<1024xf32>
  sched.launch @exp ins(%x : memref<1024xf32>) outs(%a : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %b = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %c = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%b : memref<1024xf32>) outs(%c : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %d = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%c : memref<1024xf32>) outs(%d : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %e = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%d : memref<1024xf32>) outs(%e : memref<1024xf32>) {bytes = 2.0e7 : f64}
  %f = sched.alloc "activations" : memref<1024xf32>
  sched.launch @add ins(%e, %a : memref<1024xf32>, memref<1024xf32>) outs(%f : memref<1024xf32>) {bytes = 2.0e7 : f64}
  sched.output "output" "f" %f : memref<1024xf32>
}
}
