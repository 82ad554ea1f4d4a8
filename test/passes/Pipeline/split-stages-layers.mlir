// RUN: zc-opt %s --zc-split-stages='role-of-stage=0,1,0' | FileCheck %s

// Tests that every role knows which role has which layer of experts, and the
// type of the table of all of them, while its step tells of its own alone.

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>
!r = tensor<1x4xf32>

module attributes {train.stage_seconds = array<f64: 1.0, 1.0, 1.0>} {

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @w2 "parameter" : !w

// CHECK: module @role0 attributes
// CHECK-SAME: train.layer_roles = array<i64: 0, 1, 0>
// CHECK-SAME: train.metric_types = {loss = tensor<f32>, moe_overflow = tensor<1xf32>, moe_tokens = tensor<3x4xf32>}
// CHECK: func.func @step
// CHECK-SAME: train.metric = "moe_tokens.0"
// CHECK-NOT: "moe_tokens.1"
// CHECK-SAME: train.metric = "moe_tokens.2"
// CHECK: module @role1 attributes
// CHECK-SAME: train.layer_roles = array<i64: 0, 1, 0>
// CHECK-SAME: train.metric_types = {loss = tensor<f32>, moe_overflow = tensor<1xf32>, moe_tokens = tensor<3x4xf32>}
// CHECK: func.func @step
// CHECK-NOT: "moe_tokens.0"
// CHECK-SAME: train.metric = "moe_tokens.1"
// CHECK-SAME: train.metric = "moe_overflow.0"
// CHECK-NOT: "moe_tokens.2"

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1}, %w2: !w {train.state = @w2})
    -> (tensor<f32> {train.metric = "loss"}, !r {train.metric = "moe_tokens.0"}, !r {train.metric = "moe_tokens.1"},
        !r {train.metric = "moe_tokens.2"}, tensor<1xf32> {train.metric = "moe_overflow.0"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %s0 = train.reduce "sum" %0 {dims = array<i64: 0>, train.stage = 0 : i64} : (!x) -> tensor<4xf32>
  %r0 = train.reshape %s0 {train.stage = 0 : i64} : (tensor<4xf32>) -> !r
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  %s1 = train.reduce "sum" %1 {dims = array<i64: 0>, train.stage = 1 : i64} : (!x) -> tensor<4xf32>
  %r1 = train.reshape %s1 {train.stage = 1 : i64} : (tensor<4xf32>) -> !r
  %o = train.reduce "sum" %r1 {dims = array<i64: 1>, train.stage = 1 : i64} : (!r) -> tensor<1xf32>
  %2 = train.matmul %1, %w2 {train.stage = 2 : i64} : (!x, !w) -> !x
  %s2 = train.reduce "sum" %2 {dims = array<i64: 0>, train.stage = 2 : i64} : (!x) -> tensor<4xf32>
  %r2 = train.reshape %s2 {train.stage = 2 : i64} : (tensor<4xf32>) -> !r
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1>, train.stage = 2 : i64} : (!x) -> tensor<f32>
  return %3, %r0, %r1, %r2, %o : tensor<f32>, !r, !r, !r, tensor<1xf32>
}
}
