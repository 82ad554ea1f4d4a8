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
