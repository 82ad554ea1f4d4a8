// RUN: zc-opt %s --zc-order-instructions | FileCheck %s

// Two turns of a ring backwards, in zigzag order and with keys that queries
// share: between a part and its block are a repetition, a half, a choice and a
// conversion, and as many ops between the block and what it sends.

!part = tensor<1x8x2x4xf32>
!sent = tensor<1x8x2x4xf64>
!all = tensor<1x8x4x4xf32>
!half = tensor<1x4x4x4xf32>
!sums = tensor<1x4x4xf32>

// Tests that gradients are on their way before the block of the next turn, and
// that blocks come one behind the other, however many ops are in between.
// CHECK-LABEL: func.func @turns
// CHECK: train.attention_grad {{.*}}scale = 1.000000e+00
// CHECK: dist.send_receive {{.*}}{axes = ["sp"], shift = -1
// CHECK: train.attention_grad {{.*}}scale = 2.000000e+00
func.func @turns(%key: !part {train.input = "key"}, %q: !half {train.input = "q"},
                 %s: !sums {train.input = "s"}, %is: tensor<i1> {train.input = "is"})
    -> (!half {train.output = "dq"}, !sent {train.output = "dk"}, !part {train.output = "far"}) {
  %next = train.fused(%key) {library = "zc.collective"} : (!part) -> !part {
  ^bb0(%a: !part):
    %r = dist.send_receive %a {axes = ["sp"], dist.pass = "backward", shift = -1 : i64, traffic = "activations"} : (!part) -> !part
    train.yield %r : !part
  }
  %all0 = train.fused(%key) : (!part) -> !all {
  ^bb0(%a: !part):
    %r = train.concat %a, %a {dim = 2 : i64} : (!part, !part) -> !all
    train.yield %r : !all
  }
  %low0 = train.fused(%all0) : (!all) -> !half {
  ^bb0(%a: !all):
    %r = train.slice %a {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (!all) -> !half
    train.yield %r : !half
  }
  %high0 = train.fused(%all0) : (!all) -> !half {
  ^bb0(%a: !all):
    %r = train.slice %a {offsets = array<i64: 0, 4, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (!all) -> !half
    train.yield %r : !half
  }
  %chosen0 = train.fused(%low0, %high0) : (!half, !half) -> !half {
  ^bb0(%a: !half, %b: !half):
    %r = train.max %a, %b : (!half, !half) -> !half
    train.yield %r : !half
  }
  %scaled0 = train.fused(%chosen0) : (!half) -> !half {
  ^bb0(%a: !half):
    %r = train.neg %a : (!half) -> !half
    train.yield %r : !half
  }
  %block0:2 = train.fused(%q, %scaled0, %s) : (!half, !half, !sums) -> (!half, !half) {
  ^bb0(%a: !half, %b: !half, %c: !sums):
    %r:3 = train.attention_grad %a, %b, %b, %a, %c, %a {scale = 1.0 : f64} : (!half, !half, !half, !half, !sums, !half) -> (!half, !half, !half)
    train.yield %r#0, %r#1 : !half, !half
  }
  %all1 = train.fused(%next) : (!part) -> !all {
  ^bb0(%a: !part):
    %r = train.concat %a, %a {dim = 2 : i64} : (!part, !part) -> !all
    train.yield %r : !all
  }
  %low1 = train.fused(%all1) : (!all) -> !half {
  ^bb0(%a: !all):
    %r = train.slice %a {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (!all) -> !half
    train.yield %r : !half
  }
  %dq = train.fused(%block0#0, %block0#0) {running_sum} : (!half, !half) -> !half {
  ^bb0(%a: !half, %b: !half):
    %r = train.add %a, %b : (!half, !half) -> !half
    train.yield %r : !half
  }
  %zeros = train.fused(%block0#1) : (!half) -> !half {
  ^bb0(%a: !half):
    %r = train.neg %a : (!half) -> !half
    train.yield %r : !half
  }
  %both = train.fused(%block0#1, %zeros) : (!half, !half) -> !all {
  ^bb0(%a: !half, %b: !half):
    %r = train.concat %a, %b {dim = 1 : i64} : (!half, !half) -> !all
    train.yield %r : !all
  }
  %few = train.fused(%both) : (!all) -> !part {
  ^bb0(%a: !all):
    %r = train.slice %a {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (!all) -> !part
    train.yield %r : !part
  }
  %term = train.fused(%few) : (!part) -> !sent {
  ^bb0(%a: !part):
    %r = train.convert %a : (!part) -> !sent
    train.yield %r : !sent
  }
  %sum = train.fused(%term, %term) : (!sent, !sent) -> !sent {
  ^bb0(%a: !sent, %b: !sent):
    %r = train.add %a, %b : (!sent, !sent) -> !sent
    train.yield %r : !sent
  }
  %dk = train.fused(%sum) {library = "zc.collective"} : (!sent) -> !sent {
  ^bb0(%a: !sent):
    %r = dist.send_receive %a {axes = ["sp"], shift = -1 : i64, traffic = "activations"} : (!sent) -> !sent
    train.yield %r : !sent
  }
  %block1:2 = train.fused(%q, %low1, %s) : (!half, !half, !sums) -> (!half, !half) {
  ^bb0(%a: !half, %b: !half, %c: !sums):
    %r:3 = train.attention_grad %a, %b, %b, %a, %c, %a {scale = 2.0 : f64} : (!half, !half, !half, !half, !sums, !half) -> (!half, !half, !half)
    train.yield %r#0, %r#1 : !half, !half
  }
  %more = train.fused(%dq, %block1#0) {running_sum} : (!half, !half) -> !half {
  ^bb0(%a: !half, %b: !half):
    %r = train.add %a, %b : (!half, !half) -> !half
    train.yield %r : !half
  }
  return %more, %dk, %next : !half, !sent, !part
}
