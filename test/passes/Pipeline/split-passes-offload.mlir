// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-split-passes))' | FileCheck %s
// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-split-passes,zc-convert-to-sched,zc-offload,zc-assign-offsets,zc-verify-offsets))' | FileCheck %s --check-prefix=COPIES

// Tests that what a micro-batch keeps in the second memory lies in a ring of
// its own, which the forward copies it to and the backward from, and that what
// is not marked stays.

!x = tensor<64x64xf32>

module {
module @role0 attributes {train.role = 0 : i64} {

train.state @sum "accumulator" : !x
// CHECK-DAG: train.state @[[FAR:flight.[0-9]+]] "flight" : tensor<64x64xf32> {offloaded, ring = "offloaded.stash"}
// CHECK-DAG: train.state @[[NEAR:flight.[0-9]+]] "flight" : tensor<64x64xf32> {ring = "stash"}
// COPIES: sched.rings = {{.*}}offloaded.stash = 16384 : i64, stash = 16384 : i64
// COPIES: train.state @[[FAR:flight.[0-9]+]] "flight" {{.*}}{offloaded

// CHECK-LABEL: func.func @forward
// CHECK-DAG: train.state = @[[FAR]]
// CHECK-DAG: train.state = @[[NEAR]]
// CHECK-LABEL: func.func @backward
// CHECK-DAG: train.state = @[[FAR]]
// CHECK-DAG: train.state = @[[NEAR]]

// COPIES-LABEL: sched.program @forward
// COPIES: sched.launch {{.*}} outs(%[[STAGED:[0-9]+]]{{.*}}label = "train.neg [[FAR]]"
// COPIES: sched.copy %[[STAGED]] to %{{.*}} {async, {{.*}}label = "store [[FAR]]"}
// COPIES-LABEL: sched.program @backward
// COPIES: sched.copy %{{.*}} to %[[BACK:[0-9]+]] {async, {{.*}}label = "fetch [[FAR]]"}
// COPIES: sched.wait %[[BACK]]
// COPIES: sched.launch {{.*}}%[[BACK]]
func.func @micro(%in: !x {train.input = "x"}, %sum: !x {train.state = @sum},
    %back: !x {train.receive = {gradient, id = 1 : i64, peer = 1 : i64}})
    -> (!x {train.send = {answered, id = 0 : i64, peer = 1 : i64}},
        !x {train.state = @sum}) {
  %0 = train.fused(%in) {offloaded = array<i64: 0>} : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.neg %a : (!x) -> !x
    train.yield %r : !x
  }
  %1 = train.fused(%0) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.exp %a : (!x) -> !x
    train.yield %r : !x
  }
  %2 = train.fused(%1) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.neg %a : (!x) -> !x
    train.yield %r : !x
  }
  %g = train.fused(%back, %1) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  %gw = train.fused(%g, %0, %sum) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  return %2, %gw : !x, !x
}
}
}
