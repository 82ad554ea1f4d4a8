// RUN: zc-opt %s --zc-form-regions --zc-select-library-calls --zc-convert-to-sched | FileCheck %s

// Tests that collectives with a root and sending to a neighbour become
// instructions that say so, and that a broadcast may write over its source.
!t = tensor<4x2xf32>

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  // CHECK-LABEL: sched.program @step
  func.func @step(%x: !t {train.input = "x"}) -> (!t {train.output = "y"}, !t {train.output = "z"}) {
    // CHECK: sched.collective "send_receive" ["dp"] "activations" %{{.*}} to %[[A:.*]] {{{.*}}shift = -1 : i64
    %a = dist.send_receive %x {axes = ["dp"], shift = -1 : i64, traffic = "activations"} : (!t) -> !t
    // CHECK: sched.collective "scatter" ["dp"] "activations" %[[A]] to %[[B:.*]] {{{.*}}root = 2 : i64{{.*}}} : memref<4x2xf32> to memref<1x2xf32>
    %b = dist.scatter %a {axes = ["dp"], root = 2 : i64, traffic = "activations"} : (!t) -> tensor<1x2xf32>
    // CHECK: sched.collective "gather" ["dp"] "activations" %[[B]] to %[[C:.*]] {{{.*}}} : memref<1x2xf32> to memref<4x2xf32>
    %c = dist.gather %b {axes = ["dp"], root = 0 : i64, traffic = "activations"} : (tensor<1x2xf32>) -> !t
    // CHECK: sched.collective "reduce" ["dp"] "gradients" %[[C]] to %[[D:.*]] {{{.*}}root = 1 : i64
    %d = dist.reduce %c {axes = ["dp"], root = 1 : i64, traffic = "gradients"} : (!t) -> !t
    // CHECK: %[[E:.*]] = sched.view %[[D]]
    // CHECK: sched.collective "broadcast" ["dp"] "gradients" %[[D]] to %[[E]] {{{.*}}root = 1 : i64
    %e = dist.broadcast %d {axes = ["dp"], root = 1 : i64, traffic = "gradients"} : (!t) -> !t
    return %e, %c : !t, !t
  }
}
