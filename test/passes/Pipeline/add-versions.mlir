// RUN: zc-opt %s --zc-add-versions | FileCheck %s
// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-add-versions,zc-convert-to-sched,zc-assign-offsets,zc-verify-offsets)' | FileCheck %s --check-prefix=PLACED

// Tests that micro-batches read the version that is two steps old, that the
// update reads the newest and writes the next, and that other programs and other
// states stay as they are; then that all versions of a state have one place in
// the first of as many slots, and that the update is written beside what it
// reads.

!x = tensor<8x64xf32>

// CHECK: module attributes {train.versions = 3 : i64}
// CHECK-DAG: train.state @w "parameter" : tensor<8x64xf32> {delay = 2 : i64}
// CHECK-DAG: train.state @version.read.w "parameter" : tensor<8x64xf32> {version_age = 2 : i64, version_of = @w}
// CHECK-DAG: train.state @version.written.w "parameter" : tensor<8x64xf32> {version_age = -1 : i64, version_of = @w}
// PLACED-DAG: sched.persistent_bytes = 10240
// PLACED-DAG: sched.version_bytes = 2048
// PLACED-DAG: train.state @w {{.*}}offset = 4096
// PLACED-DAG: train.state @version.read.w {{.*}}offset = 4096
// PLACED-DAG: train.state @version.written.w {{.*}}offset = 4096
train.state @w "parameter" : !x {delay = 2 : i64}
train.state @plain "parameter" : !x
train.state @sum "accumulator" : !x

// CHECK-LABEL: func.func @micro
// CHECK-SAME: train.state = @version.read.w
// CHECK-SAME: train.state = @plain
func.func @micro(%w: !x {train.state = @w}, %p: !x {train.state = @plain},
    %sum: !x {train.state = @sum}) -> (!x {train.state = @sum}) {
  %0 = train.fused(%w, %p, %sum) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  return %0 : !x
}

// CHECK-LABEL: func.func @apply
// CHECK-SAME: train.state = @w}
// CHECK-SAME: -> ({{.*}}train.state = @version.written.w
// CHECK-SAME: train.state = @plain
func.func @apply(%w: !x {train.state = @w}, %p: !x {train.state = @plain},
    %sum: !x {train.state = @sum})
    -> (!x {train.state = @w}, !x {train.state = @plain}) {
  %0:2 = train.fused(%w, %p, %sum) {shared_buffers = array<i64: 0, 0, 1, 1>} : (!x, !x, !x) -> (!x, !x) {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.sub %a, %c : (!x, !x) -> !x
    %s = train.sub %b, %c : (!x, !x) -> !x
    train.yield %r, %s : !x, !x
  }
  return %0#0, %0#1 : !x, !x
}

// CHECK-LABEL: func.func @eval
// CHECK-SAME: train.state = @w}
func.func @eval(%w: !x {train.state = @w}) -> (!x {train.output = "y"}) {
  %0 = train.fused(%w) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.neg %a : (!x) -> !x
    train.yield %r : !x
  }
  return %0 : !x
}
