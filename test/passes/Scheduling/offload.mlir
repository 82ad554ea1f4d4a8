// RUN: zc-opt %s --zc-offload --zc-assign-offsets --zc-verify-offsets -split-input-file | FileCheck %s

// A moment comes ahead of its update and goes back behind it; the second one's
// arrives while the first is updated.

train.state @m0 "optimizer" : tensor<1024xf32> {offloaded}
train.state @m1 "optimizer" : tensor<1024xf32> {offloaded}

sched.kernel @add attributes {shared = array<i64: 0, 0>} {
^bb0(%old: tensor<1024xf32>, %g: tensor<1024xf32>):
  %new = train.add %old, %g : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  train.yield %new : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @step
// CHECK: %[[M0:.*]] = sched.state @m0
// CHECK: %[[B0:.*]] = sched.alloc "communication"
// CHECK: %[[M1:.*]] = sched.state @m1
// CHECK: %[[B1:.*]] = sched.alloc "communication"
// CHECK: sched.copy %[[M0]] to %[[B0]] {async, {{.*}}label = "fetch m0"}
// CHECK: sched.copy %[[M1]] to %[[B1]] {async, {{.*}}label = "fetch m1"}
// CHECK: sched.wait %[[B0]]
// CHECK: sched.launch @add ins(%[[B0]], {{.*}}) outs(%[[N0:.*]] : memref
// CHECK: sched.copy %[[N0]] to %{{.*}} {async, {{.*}}label = "store m0"}
// CHECK: sched.wait %[[B1]]
// CHECK: sched.launch @add ins(%[[B1]], {{.*}}) outs(%[[N1:.*]] : memref
// CHECK: sched.copy %[[N1]] to %{{.*}} {async, {{.*}}label = "store m1"}
sched.program @step {
  %m0 = sched.state @m0 : memref<1024xf32>
  %m1 = sched.state @m1 : memref<1024xf32>
  %g = sched.input "g" : memref<1024xf32>
  %new0 = sched.view %m0 : memref<1024xf32> to memref<1024xf32>
  sched.launch @add ins(%m0, %g : memref<1024xf32>, memref<1024xf32>) outs(%new0 : memref<1024xf32>)
  %new1 = sched.view %m1 : memref<1024xf32> to memref<1024xf32>
  sched.launch @add ins(%m1, %g : memref<1024xf32>, memref<1024xf32>) outs(%new1 : memref<1024xf32>)
}

// -----

// An activation that waits long for its second reader: it goes while the next
// instruction runs, and comes back in time.

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

// CHECK-LABEL: sched.program @step
// CHECK: %[[A:.*]] = sched.alloc "activations" {offload
// CHECK: %[[AGAIN:.*]] = sched.alloc "activations"
// CHECK: %[[FAR:.*]] = sched.alloc "offloaded" {offset = 0
// CHECK: sched.launch @exp {{.*}} outs(%[[A]]
// CHECK: sched.launch @exp ins(%[[A]]
// CHECK: sched.copy %[[A]] to %[[FAR]] {async
// CHECK-NEXT: sched.alloc
// CHECK-NEXT: sched.launch @exp
// CHECK: sched.wait %[[FAR]]
// CHECK-NEXT: sched.launch @exp
// CHECK: sched.copy %[[FAR]] to %[[AGAIN]] {async
// CHECK-NEXT: sched.launch @exp
// CHECK: sched.wait %[[AGAIN]]
// CHECK: sched.launch @add ins(%{{.*}}, %[[AGAIN]]
sched.program @step {
  %x = sched.input "x" : memref<1024xf32>
  %a = sched.alloc "activations" {offload} : memref<1024xf32>
  sched.launch @exp ins(%x : memref<1024xf32>) outs(%a : memref<1024xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%a : memref<1024xf32>) outs(%b : memref<1024xf32>) {bytes = 1.0e9 : f64}
  %c = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%b : memref<1024xf32>) outs(%c : memref<1024xf32>) {bytes = 1.0e9 : f64}
  %d = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%c : memref<1024xf32>) outs(%d : memref<1024xf32>) {bytes = 1.0e9 : f64}
  %e = sched.alloc "activations" : memref<1024xf32>
  sched.launch @exp ins(%d : memref<1024xf32>) outs(%e : memref<1024xf32>) {bytes = 1.0e9 : f64}
  %f = sched.alloc "activations" : memref<1024xf32>
  sched.launch @add ins(%e, %a : memref<1024xf32>, memref<1024xf32>) outs(%f : memref<1024xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %f : memref<1024xf32>
}

// -----

// Parameters whose gathers end with the program go back in the gathers' order,
// whatever theirs is: to wait for the last would be to wait for both.

// CHECK-LABEL: sched.program @gathered
// CHECK: sched.collective "all_gather" ["dp"] "parameters" %{{.*}} to %[[B1:.*]] {async
// CHECK: sched.collective "all_gather" ["dp"] "parameters" %{{.*}} to %[[B0:.*]] {async
// CHECK: sched.wait %[[B1]]
// CHECK-NEXT: sched.copy %[[B1]] to %{{.*}} {async, {{.*}}label = "store p1"}
// CHECK-NEXT: sched.wait %[[B0]]
// CHECK-NEXT: sched.copy %[[B0]] to %{{.*}} {async, {{.*}}label = "store p0"}
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  train.state @p0 "parameter" : tensor<1024xf32> {offloaded}
  train.state @p1 "parameter" : tensor<1024xf32> {offloaded}
  sched.program @gathered {
    %p0 = sched.state @p0 : memref<1024xf32>
    %p1 = sched.state @p1 : memref<1024xf32>
    %x = sched.input "x" : memref<512xf32>
    %y = sched.input "y" : memref<512xf32>
    %new1 = sched.view %p1 : memref<1024xf32> to memref<1024xf32>
    sched.collective "all_gather" ["dp"] "parameters" %x to %new1 {async} : memref<512xf32> to memref<1024xf32>
    %new0 = sched.view %p0 : memref<1024xf32> to memref<1024xf32>
    sched.collective "all_gather" ["dp"] "parameters" %y to %new0 {async} : memref<512xf32> to memref<1024xf32>
  }
}

// -----

// Initial values, which are made once, are not to take more room than a step: each
// state goes before the next one is made, in the same place.

train.state @m0 "optimizer" : tensor<1024xf32> {offloaded}
train.state @m1 "optimizer" : tensor<1024xf32> {offloaded}
train.state @m2 "optimizer" : tensor<1024xf32> {offloaded}
sched.kernel @one {
^bb0:
  %z = train.constant dense<1.0> : tensor<1024xf32>
  train.yield %z : tensor<1024xf32>
}

// CHECK-LABEL: sched.program @init
// CHECK-SAME: transient_bytes = 4096
// CHECK: sched.launch @one
// CHECK-NEXT: sched.copy %{{.*}} to %[[M0:.*]] {async, {{.*}}label = "store m0"}
// CHECK: sched.wait %[[M0]]
// CHECK: sched.launch @one
// CHECK-NEXT: sched.copy %{{.*}} to %[[M1:.*]] {async, {{.*}}label = "store m1"}
// CHECK: sched.wait %[[M1]]
// CHECK: sched.launch @one
sched.program @init {
  %m0 = sched.state @m0 : memref<1024xf32>
  %new0 = sched.view %m0 : memref<1024xf32> to memref<1024xf32>
  sched.launch @one outs(%new0 : memref<1024xf32>) {bytes = 4096.0 : f64}
  %m1 = sched.state @m1 : memref<1024xf32>
  %new1 = sched.view %m1 : memref<1024xf32> to memref<1024xf32>
  sched.launch @one outs(%new1 : memref<1024xf32>) {bytes = 4096.0 : f64}
  %m2 = sched.state @m2 : memref<1024xf32>
  %new2 = sched.view %m2 : memref<1024xf32> to memref<1024xf32>
  sched.launch @one outs(%new2 : memref<1024xf32>) {bytes = 4096.0 : f64}
}
