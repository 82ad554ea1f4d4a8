// RUN: zc-opt %s --zc-overlap-collectives | FileCheck %s

// Tests that sums over roles keep their order and wait for no reader's turn: the
// first one's reader also reads what follows from the second, which this role
// has only a zero for.

!t = tensor<1024xf32>
!o = tensor<f32>

module attributes {dist.mesh = #dist.mesh<pp=2>, train.role = 1 : i64} {
  train.state @g "accumulator" : !t
  // CHECK-LABEL: func.func @apply
  // CHECK: %[[Z:.*]] = train.fused() {{.*}} -> tensor<f32>
  // CHECK: %[[G:.*]] = train.fused(%arg0)
  // CHECK: dist.all_reduce {{.*}}traffic = "gradients"
  // CHECK: %[[N:.*]] = train.fused(%[[Z]])
  // CHECK: dist.all_reduce {{.*}}traffic = "scalars"
  // CHECK: train.fused(%[[G]], %[[N]])
  func.func @apply(%g: !t {train.state = @g}) -> (!t {train.output = "y"}) {
    %z = train.fused() : () -> !o {
      %0 = train.constant dense<0.0> : !o
      train.yield %0 : !o
    }
    %sum = train.fused(%g) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_reduce %a {axes = ["pp"], holders = array<i64: 0, 1>, traffic = "gradients"} : (!t) -> !t
      train.yield %0 : !t
    }
    %norm = train.fused(%z) {library = "zc.collective"} : (!o) -> !o {
    ^bb0(%a: !o):
      %0 = dist.all_reduce %a {axes = ["pp"], traffic = "scalars"} : (!o) -> !o
      train.yield %0 : !o
    }
    %y = train.fused(%sum, %norm) : (!t, !o) -> !t {
    ^bb0(%a: !t, %n: !o):
      %0 = train.broadcast %n {dims = array<i64>} : (!o) -> !t
      %1 = train.mul %a, %0 : (!t, !t) -> !t
      train.yield %1 : !t
    }
    return %y : !t
  }
}
