// RUN: zc-opt %s --zc-overlap-collectives | FileCheck %s

!t = tensor<512x512xf32>

module attributes {dist.mesh = #dist.mesh<ep=2>} {
  train.state @w "parameter" : !t

  // Tests that products which neither an exchange needs nor need it, as those of
  // a shared expert, are done while tokens travel, though little memory had them
  // before; and the rest while they come back.
  // CHECK-LABEL: func.func @shared
  // CHECK: train.fused(%arg1)
  // CHECK: train.sigmoid
  // CHECK: %[[SENT:.*]] = train.fused({{.*}}async
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: dist.all_to_all
  // CHECK: %[[SHARED:.*]] = train.fused(%arg1, %arg0)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: train.matmul
  // CHECK: %[[MADE:.*]] = train.fused(%[[SENT]])
  // CHECK: train.tanh
  // CHECK: %[[BACK:.*]] = train.fused(%[[MADE]]) {{.*}}async
  // CHECK: dist.all_to_all
  // CHECK: %[[ACTIVE:.*]] = train.fused(%[[SHARED]])
  // CHECK: train.relu
  // CHECK: train.fused(%[[ACTIVE]], %[[BACK]])
  func.func @shared(%w: !t {train.state = @w}, %x: !t {train.input = "x"})
      -> (!t {train.output = "y"}) {
    %shared = train.fused(%x, %w) {library = "onednn.matmul"} : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %0 = train.matmul %a, %b : (!t, !t) -> !t
      train.yield %0 : !t
    }
    %active = train.fused(%shared) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.relu %a : (!t) -> !t
      train.yield %0 : !t
    }
    %rows = train.fused(%x) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.sigmoid %a : (!t) -> !t
      train.yield %0 : !t
    }
    %sent = train.fused(%rows) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_to_all %a {axes = ["ep"], from = 0 : i64, to = 0 : i64, traffic = "activations"} : (!t) -> !t
      train.yield %0 : !t
    }
    %made = train.fused(%sent) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.tanh %a : (!t) -> !t
      train.yield %0 : !t
    }
    %back = train.fused(%made) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_to_all %a {axes = ["ep"], from = 0 : i64, to = 0 : i64, traffic = "activations"} : (!t) -> !t
      train.yield %0 : !t
    }
    %y = train.fused(%active, %back) : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %0 = train.add %a, %b : (!t, !t) -> !t
      train.yield %0 : !t
    }
    return %y : !t
  }

  // Tests that work whose operand ends with it stays where it was: saved for
  // later, it would keep the operand.
  // CHECK-LABEL: func.func @memory
  // CHECK: train.tanh
  // CHECK: train.relu
  // CHECK: train.sigmoid
  // CHECK: dist.all_to_all
  // CHECK: train.add
  func.func @memory(%x: !t {train.input = "x"}) -> (!t {train.output = "y"}) {
    %h = train.fused(%x) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.tanh %a : (!t) -> !t
      train.yield %0 : !t
    }
    %shared = train.fused(%h) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.relu %a : (!t) -> !t
      train.yield %0 : !t
    }
    %rows = train.fused(%h) : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = train.sigmoid %a : (!t) -> !t
      train.yield %0 : !t
    }
    %sent = train.fused(%rows) {library = "zc.collective"} : (!t) -> !t {
    ^bb0(%a: !t):
      %0 = dist.all_to_all %a {axes = ["ep"], from = 0 : i64, to = 0 : i64, traffic = "activations"} : (!t) -> !t
      train.yield %0 : !t
    }
    %y = train.fused(%shared, %sent) : (!t, !t) -> !t {
    ^bb0(%a: !t, %b: !t):
      %0 = train.add %a, %b : (!t, !t) -> !t
      train.yield %0 : !t
    }
    return %y : !t
  }
}
