// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-split-passes))' | FileCheck %s

// Tests that what the backward reads of the forward is stashed, that received
// activations stay where they came, that what follows from states is computed
// again, and that a state which the forward changes is kept as it was.

!x = tensor<8x64xf32>

module {
module @role1 attributes {train.role = 1 : i64} {

train.state @w "parameter" : !x
train.state @accumulated.w "accumulator" : !x
train.state @count "statistic" : tensor<8x64xf32>
// CHECK-DAG: train.state @[[IN:flight.[0-9]+]] "flight" : tensor<8x64xf32> {messages = [{answered, id = 0 : i64, peer = 0 : i64}], ring = "activations.kept"}
// CHECK-DAG: train.state @[[BACK:flight.[0-9]+]] "flight" : tensor<8x64xf32> {messages = [{gradient, id = 3 : i64, peer = 2 : i64}], ring = "gradients.in"}
// CHECK-DAG: train.state @[[OUT:flight.[0-9]+]] "flight" : tensor<8x64xf32> {messages = [{answered, id = 2 : i64, peer = 2 : i64, sends}], ring = "activations.out"}
// CHECK-DAG: train.state @[[ANSWER:flight.[0-9]+]] "flight" : tensor<8x64xf32> {messages = [{gradient, id = 1 : i64, peer = 0 : i64, sends}], ring = "gradients.out"}
// CHECK-DAG: train.state @[[STASH:flight.[0-9]+]] "flight" : tensor<8x64xf32> {ring = "stash"}
// CHECK-DAG: train.state @[[OLD:flight.[0-9]+]] "flight" : tensor<8x64xf32> {ring = "stash"}

// CHECK-LABEL: func.func @forward
// CHECK-SAME: train.state = @[[IN]]
// CHECK-NOT: accumulated.w
// CHECK-SAME: {train.state = @count}
// CHECK-SAME: {train.state = @[[OUT]]}
// CHECK: train.fused
// CHECK-LABEL: func.func @backward
// CHECK-DAG: train.state = @[[BACK]]
// CHECK-DAG: train.state = @w
// CHECK: train.neg
// CHECK: return
func.func @micro(%in: !x {train.receive = {answered, id = 0 : i64, peer = 0 : i64}, train.batch_dim = 0 : i64},
    %w: !x {train.state = @w}, %sum: !x {train.state = @accumulated.w},
    %count: !x {train.state = @count},
    %back: !x {train.receive = {gradient, id = 3 : i64, peer = 2 : i64}, train.batch_dim = 0 : i64})
    -> (!x {train.send = {answered, id = 2 : i64, peer = 2 : i64}, train.batch_dim = 0 : i64},
        !x {train.state = @count}, !x {train.state = @accumulated.w},
        !x {train.send = {gradient, id = 1 : i64, peer = 0 : i64}, train.batch_dim = 0 : i64}) {
  %table = train.fused(%w) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.neg %a : (!x) -> !x
    train.yield %r : !x
  }
  %0 = train.fused(%in, %table) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  %1 = train.fused(%0) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.exp %a : (!x) -> !x
    train.yield %r : !x
  }
  %next = train.fused(%count) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.neg %a : (!x) -> !x
    train.yield %r : !x
  }
  %g = train.fused(%back, %0, %count) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.mul %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  %gw = train.fused(%g, %in, %sum) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  %answer = train.fused(%g, %table) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  return %1, %next, %gw, %answer : !x, !x, !x, !x
}
}
}
