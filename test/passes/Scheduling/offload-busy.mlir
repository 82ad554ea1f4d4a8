// RUN: zc-opt %s --zc-offload -split-input-file | FileCheck %s

// Parameters of 4 MB, whose copies take 0.1 ms on a GPU's link.

// Tests that a table which a step begins with stays on the device, and that this
// is said; a layer's parameter, wanted later, is copied.
// CHECK: module attributes {{{.*}}dist.notes = ["1 of the states to offload stay on the device
// CHECK: train.state @table "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK: train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
// CHECK-LABEL: sched.program @step
// CHECK-NOT: fetch table
// CHECK: label = "fetch layer"
// CHECK-NOT: label =
module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32>  {offloaded}
train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @step {
  %table = sched.state @table : memref<1048576xf32>
  %layer = sched.state @layer : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %c : memref<1048576xf32>
}
}

// -----

// Tests that of three reads two share a buffer where what runs between them takes
// less time than the way back; the third, later than that, has it copied again.
// CHECK-LABEL: sched.program @apart
// CHECK-COUNT-2: label = "fetch layer"
// CHECK-NOT: label = "fetch layer"
module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @apart {
  %layer = sched.state @layer : memref<1048576xf32>
  %x = sched.input "x" : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%x, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %a : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %b : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %d = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%c, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%d : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %e = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%d, %d : memref<1048576xf32>, memref<1048576xf32>) outs(%e : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %f = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%e, %e : memref<1048576xf32>, memref<1048576xf32>) outs(%f : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %g = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%f, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%g : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  sched.output "output" "f" %g : memref<1048576xf32>
}
}

// -----

// Tests that a micro-batch's table stays, too, though no micro-batch ends with it.
// CHECK: train.state @table "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK-LABEL: sched.program @micro
// CHECK-NOT: fetch
module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @micro {
  %table = sched.state @table : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %a : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %b : memref<1048576xf32>
}
}
