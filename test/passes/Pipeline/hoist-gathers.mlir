// RUN: zc-opt %s --split-input-file --pass-pipeline='builtin.module(zc-hoist-gathers)' | FileCheck %s
// RUN: zc-opt %s --split-input-file --pass-pipeline='builtin.module(zc-hoist-gathers,zc-convert-to-sched,zc-assign-offsets,zc-verify-offsets)' | FileCheck %s --check-prefix=PLACED

// Tests that both passes of a micro-batch read a unit that @gather has made
// whole, that what is no gather of a state stays, and that the whole unit has a
// place of its own.

!part = tensor<64xf32>
!all = tensor<128xf32>

// CHECK-LABEL: module attributes {train.reshard_every = 4 : i64}
// CHECK-DAG: train.state @gathered.unit.0 "gathered" : tensor<128xf32>
// CHECK-NOT: gathered.sum
// PLACED-DAG: sched.persistent_bytes = 1024
// PLACED-DAG: train.state @gathered.unit.0 "gathered" : tensor<128xf32> {{.*}}offset = 512
module attributes {train.reshard_every = 4 : i64} {
train.state @unit.0 "parameter" : !part
train.state @sum "accumulator" : !part

// CHECK: func.func @gather(%[[U:.*]]: tensor<64xf32> {train.state = @unit.0}) -> (tensor<128xf32> {train.state = @gathered.unit.0})
// CHECK: %[[G:.*]] = train.fused(%[[U]]) {library = "zc.collective"}
// CHECK: dist.all_gather
// CHECK: return %[[G]]
// PLACED: sched.program @gather
// PLACED: sched.collective "all_gather"

// CHECK: func.func @micro
// CHECK-NOT: @unit.0
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<128xf32> {train.state = @gathered.unit.0}
// CHECK: train.fused(%{{.*}}, %[[W]])
// CHECK: dist.all_gather{{.*}}traffic = "activations"
// CHECK: train.fused(%[[W]], %{{.*}})
// CHECK-NOT: traffic = "parameters"
// CHECK: dist.reduce_scatter
func.func @micro(%x: !all {train.input = "x"}, %u: !part {train.state = @unit.0}, %s: !part {train.state = @sum})
    -> (!part {train.state = @sum}) {
  %w = train.fused(%u) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%a: !part):
    %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, dist.pass = "forward", traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %0 = train.fused(%x, %w) : (!all, !all) -> !all {
  ^bb0(%a: !all, %b: !all):
    %r = train.mul %a, %b : (!all, !all) -> !all
    train.yield %r : !all
  }
  %h = train.fused(%s) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%a: !part):
    %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "activations"} : (!part) -> !all
    train.yield %r : !all
  }
  %again = train.fused(%u) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%a: !part):
    %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, dist.pass = "backward", traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %1 = train.fused(%again, %0) : (!all, !all) -> !all {
  ^bb0(%a: !all, %b: !all):
    %r = train.mul %a, %b : (!all, !all) -> !all
    train.yield %r : !all
  }
  %2 = train.fused(%1, %h) : (!all, !all) -> !all {
  ^bb0(%a: !all, %b: !all):
    %r = train.mul %a, %b : (!all, !all) -> !all
    train.yield %r : !all
  }
  %g = train.fused(%2) {library = "zc.collective"} : (!all) -> !part {
  ^bb0(%a: !all):
    %r = dist.reduce_scatter %a {axes = ["dp"], dim = 0 : i64, reduction = "sum", traffic = "gradients"} : (!all) -> !part
    train.yield %r : !part
  }
  %3 = train.fused(%s, %g) : (!part, !part) -> !part {
  ^bb0(%a: !part, %b: !part):
    %r = train.add %a, %b : (!part, !part) -> !part
    train.yield %r : !part
  }
  return %3 : !part
}
}

// -----

// A micro-batch gathers itself units that it changes or reads in versions;
// where nothing else is gathered, there is no such program.

!part = tensor<64xf32>
!all = tensor<128xf32>

// CHECK-LABEL: module {
// CHECK-NOT: "gathered"
// CHECK-NOT: @gather
// CHECK: func.func @micro
// CHECK: dist.all_gather
// CHECK: dist.all_gather
module attributes {train.reshard_every = 2 : i64} {
train.state @old "parameter" : !part {delay = 1 : i64}
train.state @changed "parameter" : !part
func.func @micro(%o: !part {train.state = @old}, %c: !part {train.state = @changed})
    -> (!part {train.state = @changed}, !all {train.output = "y"}) {
  %0 = train.fused(%o) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%a: !part):
    %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %1 = train.fused(%c) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%a: !part):
    %r = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %2 = train.fused(%0, %1) : (!all, !all) -> !all {
  ^bb0(%a: !all, %b: !all):
    %r = train.add %a, %b : (!all, !all) -> !all
    train.yield %r : !all
  }
  %3 = train.fused(%c) : (!part) -> !part {
  ^bb0(%a: !part):
    %r = train.neg %a : (!part) -> !part
    train.yield %r : !part
  }
  return %3, %2 : !part, !all
}
}
