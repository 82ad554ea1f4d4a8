// RUN: zc-opt %s --zc-overlap-collectives | FileCheck %s

!part = tensor<1x512x4x64xf32>
!sums = tensor<1x4x512xf32>

// Tests that blocks of a ring keep their turns where the earlier one waits for
// something: what is sent of it would else hide behind no block.
module attributes {dist.mesh = #dist.mesh<sp=2>} {
  // CHECK-LABEL: func.func @turns
  // CHECK: train.attention_grad {{.*}}scale = 1.000000e+00
  // CHECK: train.attention_grad {{.*}}scale = 2.000000e+00
  func.func @turns(%key: !part {train.input = "key"}, %q: !part {train.input = "q"}, %s: !sums {train.input = "s"})
      -> (!part {train.output = "a"}, !part {train.output = "b"}) {
    %next = train.fused(%key) {library = "zc.collective"} : (!part) -> !part {
    ^bb0(%a: !part):
      %r = dist.send_receive %a {axes = ["sp"], dist.pass = "backward", shift = -1 : i64, traffic = "activations"} : (!part) -> !part
      train.yield %r : !part
    }
    %late = train.fused(%next) {library = "zc.collective", shared_buffers = array<i64: 0, 0>} : (!part) -> !part {
    ^bb0(%a: !part):
      %r = dist.all_reduce %a {axes = ["sp"], traffic = "activations"} : (!part) -> !part
      train.yield %r : !part
    }
    %block0 = train.fused(%late, %key, %s) : (!part, !part, !sums) -> !part {
    ^bb0(%a: !part, %b: !part, %c: !sums):
      %r:3 = train.attention_grad %a, %b, %b, %a, %c, %a {scale = 1.0 : f64} : (!part, !part, !part, !part, !sums, !part) -> (!part, !part, !part)
      train.yield %r#0 : !part
    }
    %block1 = train.fused(%q, %next, %s) : (!part, !part, !sums) -> !part {
    ^bb0(%a: !part, %b: !part, %c: !sums):
      %r:3 = train.attention_grad %a, %b, %b, %a, %c, %a {scale = 2.0 : f64} : (!part, !part, !part, !part, !sums, !part) -> (!part, !part, !part)
      train.yield %r#0 : !part
    }
    return %block0, %block1 : !part, !part
  }
}
