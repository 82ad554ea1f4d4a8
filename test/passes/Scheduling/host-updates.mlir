// RUN: zc-opt %s --zc-host-updates --zc-offload --zc-assign-offsets --zc-verify-offsets -split-input-file | FileCheck %s

// The host updates moment and float32 weight where they lie. The gradient goes
// there once it is written, and its buffer is another's when it has gone; the
// new weight comes back beside the instruction during which it is computed.

module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @m "optimizer" : tensor<1024xf32> {host_update, offloaded}
train.state @p "parameter" : tensor<1024xf32> {host_update, offloaded}
train.state @w "copy" : tensor<1024xbf16>

sched.kernel @gradient {
^bb0(%x: tensor<1024xbf16>):
  %g = train.exp %x : (tensor<1024xbf16>) -> tensor<1024xbf16>
  train.yield %g : tensor<1024xbf16>
}
// CHECK-NOT: sched.kernel @update attributes
sched.kernel @update attributes {shared = array<i64: 1, 0, 2, 1>} {
^bb0(%g: tensor<1024xbf16>, %m: tensor<1024xf32>, %p: tensor<1024xf32>):
  %wide = train.convert %g : (tensor<1024xbf16>) -> tensor<1024xf32>
  %m1 = train.add %m, %wide : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %p1 = train.sub %p, %m1 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %w1 = train.convert %p1 : (tensor<1024xf32>) -> tensor<1024xbf16>
  train.yield %m1, %p1, %w1 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xbf16>
}

// CHECK-LABEL: sched.program @step
// CHECK-DAG: %[[M:.*]] = sched.state @m
// CHECK-DAG: %[[P:.*]] = sched.state @p
// CHECK-DAG: %[[W:.*]] = sched.state @w
// CHECK: sched.launch @gradient {{.*}} outs(%[[G:.*]] : memref<1024xbf16>)
// CHECK-NEXT: %[[SENT:.*]] = sched.alloc "offloaded"
// CHECK-NEXT: sched.copy %[[G]] to %[[SENT]] {async, {{.*}}label = "to the host for
// CHECK: %[[NEW:.*]] = sched.alloc "offloaded" {{.*}}memref<1024xbf16>
// CHECK-NEXT: sched.launch @update_host ins(%[[SENT]], %[[M]], %[[P]] : {{.*}}) outs(%{{.*}}, %{{.*}}, %[[NEW]] : {{.*}}host
// CHECK: sched.launch @gradient
// CHECK: sched.copy %[[NEW]] to %{{.*}} {async, {{.*}}label = "from the host of
// CHECK-NEXT: sched.wait %[[SENT]]
// CHECK-NEXT: sched.launch @gradient
// CHECK: sched.output
// CHECK: sched.kernel @update_host attributes {host
sched.program @step {
  %m = sched.state @m : memref<1024xf32>
  %p = sched.state @p : memref<1024xf32>
  %w = sched.state @w : memref<1024xbf16>
  %x = sched.input "x" : memref<1024xbf16>
  %g = sched.alloc "gradients" : memref<1024xbf16>
  sched.launch @gradient ins(%w : memref<1024xbf16>) outs(%g : memref<1024xbf16>) {bytes = 4096.0 : f64}
  %m1 = sched.view %m : memref<1024xf32> to memref<1024xf32>
  %p1 = sched.view %p : memref<1024xf32> to memref<1024xf32>
  %w1 = sched.view %w : memref<1024xbf16> to memref<1024xbf16>
  sched.launch @update ins(%g, %m, %p : memref<1024xbf16>, memref<1024xf32>, memref<1024xf32>) outs(%m1, %p1, %w1 : memref<1024xf32>, memref<1024xf32>, memref<1024xbf16>) {bytes = 2.0e4 : f64}
  %a = sched.alloc "gradients" : memref<1024xbf16>
  sched.launch @gradient ins(%x : memref<1024xbf16>) outs(%a : memref<1024xbf16>) {bytes = 4.0e7 : f64}
  %b = sched.view %g : memref<1024xbf16> to memref<1024xbf16>
  sched.launch @gradient ins(%a : memref<1024xbf16>) outs(%b : memref<1024xbf16>) {bytes = 4096.0 : f64}
  sched.output "output" "b" %b : memref<1024xbf16>
}
}

// -----

// A value that another kernel reads comes back before that, and is waited for.

module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @m "optimizer" : tensor<1024xf32> {host_update, offloaded}
sched.kernel @update attributes {shared = array<i64: 1, 0>} {
^bb0(%g: tensor<1024xbf16>, %m: tensor<1024xf32>):
  %wide = train.convert %g : (tensor<1024xbf16>) -> tensor<1024xf32>
  %m1 = train.add %m, %wide : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %w1 = train.convert %m1 : (tensor<1024xf32>) -> tensor<1024xbf16>
  train.yield %m1, %w1 : tensor<1024xf32>, tensor<1024xbf16>
}
sched.kernel @read {
^bb0(%x: tensor<1024xbf16>):
  %y = train.exp %x : (tensor<1024xbf16>) -> tensor<1024xbf16>
  train.yield %y : tensor<1024xbf16>
}

// CHECK-LABEL: sched.program @read_again
// CHECK: sched.launch @update_host {{.*}}, %[[NEW:.*]] : memref<1024xf32>, memref<1024xbf16>) {{.*}}host
// CHECK-NEXT: sched.alloc
// CHECK-NEXT: sched.copy %[[NEW]] to %[[BACK:.*]] {async
// CHECK-NEXT: sched.wait %[[BACK]]
// CHECK-NEXT: sched.launch @read ins(%[[BACK]]
sched.program @read_again {
  %m = sched.state @m : memref<1024xf32>
  %g = sched.input "g" : memref<1024xbf16>
  %m1 = sched.view %m : memref<1024xf32> to memref<1024xf32>
  %w1 = sched.alloc "communication" : memref<1024xbf16>
  sched.launch @update ins(%g, %m : memref<1024xbf16>, memref<1024xf32>) outs(%m1, %w1 : memref<1024xf32>, memref<1024xbf16>)
  %y = sched.alloc "activations" : memref<1024xbf16>
  sched.launch @read ins(%w1 : memref<1024xbf16>) outs(%y : memref<1024xbf16>)
  sched.output "output" "y" %y : memref<1024xbf16>
}
}

// -----

// A sum is no work of one element after another: the device does it, on what is
// brought there.

module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @m "optimizer" : tensor<1024xf32> {host_update, offloaded}
sched.kernel @sum attributes {shared = array<i64: 0, 0>} {
^bb0(%m: tensor<1024xf32>, %g: tensor<1024x8xf32>):
  %s = train.reduce "sum" %g {dims = array<i64: 1>} : (tensor<1024x8xf32>) -> tensor<1024xf32>
  %m1 = train.add %m, %s : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %m1 : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @sums
// CHECK: sched.copy {{.*}}label = "fetch m"
// CHECK: sched.launch @sum
// CHECK-NOT: host
// CHECK: sched.copy {{.*}}label = "store m"
sched.program @sums {
  %m = sched.state @m : memref<1024xf32>
  %g = sched.input "g" : memref<1024x8xf32>
  %m1 = sched.view %m : memref<1024xf32> to memref<1024xf32>
  sched.launch @sum ins(%m, %g : memref<1024xf32>, memref<1024x8xf32>) outs(%m1 : memref<1024xf32>)
}
}

// -----

// The host adds up what micro-batches leave, of gradients that go there, sums up
// squares of the sums, whose one number comes back for what the device makes of
// it, and fills them with zeros. A moment that waits for a choice is the host's
// alone, and has no place on the device.

module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @sum "accumulator" : tensor<1024xf32> {host_update, offloaded}
train.state @m "optimizer" : tensor<1024xf32> {host_update, offloaded}
sched.kernel @gradient {
^bb0(%x: tensor<1024xbf16>):
  %g = train.exp %x : (tensor<1024xbf16>) -> tensor<1024xbf16>
  train.yield %g : tensor<1024xbf16>
}
sched.kernel @add attributes {shared = array<i64: 0, 0>} {
^bb0(%sum: tensor<1024xf32>, %g: tensor<1024xbf16>):
  %wide = train.convert %g : (tensor<1024xbf16>) -> tensor<1024xf32>
  %s = train.add %sum, %wide : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %s : tensor<1024xf32>
}
sched.kernel @squares {
^bb0(%sum: tensor<1024xf32>):
  %s = train.reduce "sum_square" %sum {dims = array<i64: 0>} : (tensor<1024xf32>) -> tensor<f32>
  train.yield %s : tensor<f32>
}
sched.kernel @root {
^bb0(%x: tensor<f32>):
  %y = train.sqrt %x : (tensor<f32>) -> tensor<f32>
  train.yield %y : tensor<f32>
}
sched.kernel @moment {
^bb0(%m: tensor<1024xf32>, %sum: tensor<1024xf32>, %norm: tensor<f32>):
  %n = train.broadcast %norm {dims = array<i64>} : (tensor<f32>) -> tensor<1024xf32>
  %g = train.div %sum, %n : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %s = train.add %m, %g : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %s : tensor<1024xf32>
}
sched.kernel @choose attributes {shared = array<i64: 0, 0>} {
^bb0(%m: tensor<1024xf32>, %new: tensor<1024xf32>):
  %s = train.max %m, %new : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %s : tensor<1024xf32>
}
sched.kernel @zeros {
^bb0:
  %z = train.constant dense<0.0> : tensor<1024xf32>
  train.yield %z : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @micro
// CHECK: %[[SUM:.*]] = sched.state @sum
// CHECK: sched.launch @gradient {{.*}} outs(%[[G:.*]] : memref<1024xbf16>)
// CHECK: sched.copy %[[G]] to %[[SENT:[^ ]*]] {async, {{.*}}label = "to the host for
// CHECK: sched.launch @add_host ins(%[[SUM]], %[[SENT]] :
// CHECK-NOT: sched.copy
sched.program @micro {
  %sum = sched.state @sum : memref<1024xf32>
  %x = sched.input "x" : memref<1024xbf16>
  %g = sched.alloc "gradients" : memref<1024xbf16>
  sched.launch @gradient ins(%x : memref<1024xbf16>) outs(%g : memref<1024xbf16>)
  %s = sched.view %sum : memref<1024xf32> to memref<1024xf32>
  sched.launch @add ins(%sum, %g : memref<1024xf32>, memref<1024xbf16>) outs(%s : memref<1024xf32>)
}

// CHECK-LABEL: sched.program @apply
// CHECK-DAG: %[[SUM:.*]] = sched.state @sum
// CHECK-DAG: %[[M:.*]] = sched.state @m
// CHECK: sched.launch @squares_host ins(%[[SUM]] : memref<1024xf32>) outs(%[[PART:.*]] : memref<f32>)
// CHECK: sched.copy %[[PART]] to %[[BACK:[^ ]*]] {async
// CHECK: sched.wait %[[BACK]]
// CHECK: sched.launch @root ins(%[[BACK]] : memref<f32>) outs(%[[NORM:.*]] : memref<f32>)
// CHECK: sched.copy %[[NORM]] to %[[THERE:[^ ]*]] {async
// CHECK: %[[NEW:.*]] = sched.alloc "offloaded"
// CHECK: sched.launch @moment_host ins(%[[M]], %[[SUM]], %[[THERE]] : {{.*}}) outs(%[[NEW]] :
// CHECK-NOT: sched.alloc
// CHECK: sched.launch @choose_host ins(%[[M]], %[[NEW]] :
// CHECK: sched.launch @zeros_host {{.*}}outs(%{{.*}} : memref<1024xf32>)
// CHECK-NOT: sched.copy
sched.program @apply {
  %sum = sched.state @sum : memref<1024xf32>
  %m = sched.state @m : memref<1024xf32>
  %part = sched.alloc "activations" : memref<f32>
  sched.launch @squares ins(%sum : memref<1024xf32>) outs(%part : memref<f32>)
  %norm = sched.alloc "activations" : memref<f32>
  sched.launch @root ins(%part : memref<f32>) outs(%norm : memref<f32>)
  %new = sched.alloc "activations" : memref<1024xf32>
  sched.launch @moment ins(%m, %sum, %norm : memref<1024xf32>, memref<1024xf32>, memref<f32>) outs(%new : memref<1024xf32>)
  %m1 = sched.view %m : memref<1024xf32> to memref<1024xf32>
  sched.launch @choose ins(%m, %new : memref<1024xf32>, memref<1024xf32>) outs(%m1 : memref<1024xf32>)
  %zero = sched.view %sum : memref<1024xf32> to memref<1024xf32>
  sched.launch @zeros outs(%zero : memref<1024xf32>)
}
}
