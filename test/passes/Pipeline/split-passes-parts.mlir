// RUN: zc-opt %s --split-input-file --pass-pipeline='builtin.module(builtin.module(zc-split-passes))' | FileCheck %s

// Tests that the backward computes what is sent on and nothing else, that the
// parameters' gradients are a program behind it, and that a ring holds what the
// same programs read.

// CHECK-DAG: train.state @[[IN:flight.[0-9]+]] {{.*}}id = 0 : i64, peer = 0 : i64}], ring = "activations.kept.fw"
// CHECK-DAG: train.state @[[BACK:flight.[0-9]+]] {{.*}}id = 3 : i64, peer = 2 : i64}], ring = "gradients.in"
// CHECK-DAG: train.state @[[OUT:flight.[0-9]+]] {{.*}}id = 2 : i64, peer = 2 : i64, sends}], ring = "stash"
// CHECK-DAG: train.state @[[ON:flight.[0-9]+]] {{.*}}id = 1 : i64, peer = 0 : i64, sends}], ring = "gradients.out"
// CHECK-DAG: train.state @[[KEPT:flight.[0-9]+]] "flight" : tensor<8x64xf32> {ring = "gradients.stash.bw"}
// CHECK: func.func @forward(
// CHECK-SAME: {train.state = @[[OUT]]})
// CHECK: func.func @backward(
// CHECK-NOT: accumulated.w
// CHECK-SAME: -> ({{.*}} {train.state = @[[ON]]}, {{.*}} {train.state = @[[KEPT]]})
// CHECK-COUNT-2: train.fused
// CHECK-NOT: train.fused
// CHECK: func.func @weight_gradients(
// CHECK-SAME: {train.state = @[[KEPT]]}
// CHECK-SAME: {train.state = @[[IN]]}
// CHECK-SAME: -> ({{.*}} {train.state = @accumulated.w})

!x = tensor<8x64xf32>
module {
module @role1 attributes {train.role = 1 : i64, train.split_weights} {
train.state @w "parameter" : !x
train.state @accumulated.w "accumulator" : !x
func.func @micro(%in: !x {train.receive = {answered, id = 0 : i64, peer = 0 : i64}, train.batch_dim = 0 : i64},
    %w: !x {train.state = @w}, %sum: !x {train.state = @accumulated.w},
    %back: !x {train.receive = {gradient, id = 3 : i64, peer = 2 : i64}, train.batch_dim = 0 : i64})
    -> (!x {train.send = {answered, id = 2 : i64, peer = 2 : i64}, train.batch_dim = 0 : i64},
        !x {train.state = @accumulated.w},
        !x {train.send = {gradient, id = 1 : i64, peer = 0 : i64}, train.batch_dim = 0 : i64}) {
  %0 = train.fused(%in, %w) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  %1 = train.fused(%0) : (!x) -> !x {
  ^bb0(%a: !x):
    %r = train.exp %a : (!x) -> !x
    train.yield %r : !x
  }
  %g = train.fused(%back, %1) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  %gw = train.fused(%g, %in, %sum) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  %answer = train.fused(%g, %w) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  return %1, %gw, %answer : !x, !x, !x
}
}
}

// -----

// Tests a role with the first and the last stage: what one has for the other is
// no message but kept, each has its own inputs, and the loss is the last one's.

// CHECK-DAG: train.state @[[SENT:flight.[0-9]+]] {{.*}}{id = 2 : i64, peer = 1 : i64, sends}], ring = "stash.f0f1"
// CHECK-DAG: train.state @[[LOCAL:flight.[0-9]+]] "flight" : tensor<8x64xf32> {ring = "gradients.stash.b1b0"}
// CHECK-NOT: id = 0 : i64
// CHECK: func.func @forward.0(
// CHECK-SAME: train.input = "x"
// CHECK-NOT: labels
// CHECK-SAME: {train.state = @[[SENT]]}
// CHECK: func.func @forward.1(
// CHECK-SAME: {train.state = @[[SENT]]}
// CHECK-SAME: train.input = "labels"
// CHECK-SAME: -> (tensor<f32> {train.state = @accumulated.loss}
// CHECK: func.func @backward.1(
// CHECK-SAME: -> ({{.*}} {train.state = @accumulated.v}, {{.*}} {train.state = @[[LOCAL]]})
// CHECK: func.func @backward.0(
// CHECK-SAME: {train.state = @[[LOCAL]]}
// CHECK-SAME: -> ({{.*}} {train.state = @accumulated.w})

!x = tensor<8x64xf32>
module {
module @role0 attributes {train.role = 0 : i64, train.chunks = 2 : i64} {
train.state @w "parameter" : !x
train.state @v "parameter" : !x
train.state @accumulated.w "accumulator" : !x
train.state @accumulated.v "accumulator" : !x
train.state @accumulated.loss "accumulator" : tensor<f32>
func.func @micro(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %labels: !x {train.input = "labels", train.batch_dim = 0 : i64},
    %skip: !x {train.receive = {answered, chunk = 1 : i64, id = 0 : i64, peer = 0 : i64}},
    %in: !x {train.receive = {chunk = 1 : i64, id = 4 : i64, peer = 1 : i64}},
    %w: !x {train.state = @w}, %v: !x {train.state = @v},
    %sumw: !x {train.state = @accumulated.w}, %sumv: !x {train.state = @accumulated.v},
    %loss: tensor<f32> {train.state = @accumulated.loss},
    %back: !x {train.receive = {gradient, id = 1 : i64, peer = 0 : i64}})
    -> (!x {train.send = {answered, id = 0 : i64, peer = 0 : i64}},
        !x {train.send = {id = 2 : i64, peer = 1 : i64}},
        tensor<f32> {train.state = @accumulated.loss},
        !x {train.send = {chunk = 1 : i64, gradient, id = 1 : i64, peer = 0 : i64}},
        !x {train.state = @accumulated.w}, !x {train.state = @accumulated.v}) {
  %0 = train.fused(%x, %w) : (!x, !x) -> !x {
  ^bb0(%a: !x, %b: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    train.yield %r : !x
  }
  %1 = train.fused(%skip, %in, %v, %labels) : (!x, !x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x, %d: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.mul %r, %c : (!x, !x) -> !x
    %t = train.sub %s, %d : (!x, !x) -> !x
    train.yield %t : !x
  }
  %2 = train.fused(%1, %loss) : (!x, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: !x, %b: tensor<f32>):
    %r = train.reduce "sum" %a {dims = array<i64: 0, 1>} : (!x) -> tensor<f32>
    %s = train.add %r, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    train.yield %s : tensor<f32>
  }
  %g = train.fused(%1, %v, %in) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.mul %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  %gv = train.fused(%1, %in, %sumv) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  %gw = train.fused(%back, %x, %sumw) : (!x, !x, !x) -> !x {
  ^bb0(%a: !x, %b: !x, %c: !x):
    %r = train.mul %a, %b : (!x, !x) -> !x
    %s = train.add %r, %c : (!x, !x) -> !x
    train.yield %s : !x
  }
  return %0, %0, %2, %g, %gw, %gv : !x, !x, tensor<f32>, !x, !x, !x
}
}
}
