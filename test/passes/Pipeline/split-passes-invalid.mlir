// RUN: not zc-opt %s --split-input-file --pass-pipeline='builtin.module(builtin.module(zc-split-passes))' 2>&1 | FileCheck %s

// CHECK: error: expected @micro, from --zc-accumulate-gradients
module {
module @role0 attributes {train.role = 0 : i64} {
}
}

// -----

// A kernel of both passes would wait for itself.
// CHECK: error: {{.*}}is needed by the forward, but reads a gradient
!x = tensor<8xf32>
module {
module @role0 attributes {train.role = 0 : i64} {
train.state @w "parameter" : !x
func.func @micro(%w: !x {train.state = @w},
    %back: !x {train.receive = {gradient, id = 1 : i64, peer = 1 : i64}})
    -> (!x {train.send = {answered, id = 0 : i64, peer = 1 : i64}}) {
  %0 = train.fused(%w, %back) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  return %0 : !x
}
}
}
