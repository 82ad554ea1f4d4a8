// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-hoist-gathers))' | FileCheck %s
// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-hoist-gathers,zc-split-passes,zc-convert-to-sched,zc-assign-offsets,zc-verify-offsets))' | FileCheck %s --check-prefix=PLACED

// Tests that each stage of a role has a program that gathers its units, that
// units of two stages lie in one place, and that one which both read has a place
// of its own.

!part = tensor<32xf32>
!all = tensor<64xf32>

// CHECK-DAG: train.state @gathered.first "gathered" : tensor<64xf32> {unit_stage = 0 : i64}
// CHECK-DAG: train.state @gathered.second "gathered" : tensor<64xf32> {unit_stage = 1 : i64}
// CHECK-DAG: train.state @gathered.tied "gathered" : tensor<64xf32>{{$}}
// CHECK-LABEL: func.func @gather.0
// CHECK-SAME: @gathered.first
// CHECK-SAME: @gathered.tied
// CHECK-LABEL: func.func @gather.1
// CHECK-SAME: @gathered.second
// PLACED: sched.persistent_bytes = 1152
// PLACED-DAG: train.state @gathered.tied "gathered" : tensor<64xf32> {offset = 640
// PLACED-DAG: train.state @gathered.first "gathered" : tensor<64xf32> {offset = 896
// PLACED-DAG: train.state @gathered.second "gathered" : tensor<64xf32> {offset = 896
module {
module @role0 attributes {train.chunks = 2 : i64, train.reshard_every = 2 : i64, train.role = 0 : i64, train.shares_units} {
train.state @first "parameter" : !part
train.state @second "parameter" : !part
train.state @tied "parameter" : !part
train.state @sum "accumulator" : !all

func.func @micro(%x: !all {train.input = "x"}, %first: !part {train.state = @first},
    %second: !part {train.state = @second}, %tied: !part {train.state = @tied}, %sum: !all {train.state = @sum},
    %in: !all {train.receive = {answered, chunk = 1 : i64, id = 2 : i64, peer = 1 : i64}},
    %back: !all {train.receive = {gradient, chunk = 0 : i64, id = 1 : i64, peer = 1 : i64}})
    -> (!all {train.send = {answered, chunk = 0 : i64, id = 0 : i64, peer = 1 : i64}},
        !all {train.send = {gradient, chunk = 1 : i64, id = 3 : i64, peer = 1 : i64}},
        !all {train.state = @sum}) {
  %a = train.fused(%first) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%p: !part):
    %r = dist.all_gather %p {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %t = train.fused(%tied) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%p: !part):
    %r = dist.all_gather %p {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %b = train.fused(%second) {library = "zc.collective"} : (!part) -> !all {
  ^bb0(%p: !part):
    %r = dist.all_gather %p {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (!part) -> !all
    train.yield %r : !all
  }
  %out = train.fused(%x, %a, %t) : (!all, !all, !all) -> !all {
  ^bb0(%p: !all, %q: !all, %s: !all):
    %r = train.mul %p, %q : (!all, !all) -> !all
    %u = train.mul %r, %s : (!all, !all) -> !all
    train.yield %u : !all
  }
  %answer = train.fused(%in, %b, %t) : (!all, !all, !all) -> !all {
  ^bb0(%p: !all, %q: !all, %s: !all):
    %r = train.mul %p, %q : (!all, !all) -> !all
    %u = train.mul %r, %s : (!all, !all) -> !all
    train.yield %u : !all
  }
  %g = train.fused(%back, %sum) : (!all, !all) -> !all {
  ^bb0(%p: !all, %q: !all):
    %r = train.add %p, %q : (!all, !all) -> !all
    train.yield %r : !all
  }
  return %out, %answer, %g : !all, !all, !all
}
}
}
