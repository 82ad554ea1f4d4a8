// RUN: zc-opt %s --zc-split-stages='role-of-stage=0,1,1,0 split-weights' | FileCheck %s
// RUN: not zc-opt %s --zc-split-stages='role-of-stage=0,1,1' 2>&1 | FileCheck --check-prefix=SHORT %s
// RUN: not zc-opt %s --zc-split-stages='role-of-stage=0,2,2,0' 2>&1 | FileCheck --check-prefix=GAP %s
// RUN: not zc-opt %s --zc-split-stages='role-of-stage=0,1,1,7' 2>&1 | FileCheck --check-prefix=FAR %s

// Tests roles of two stages each, there and back: both ends of a message say
// which stage of their role they are of, neighbours of one role send to
// themselves, and a cheap op of the input is in each stage that reads it.

// SHORT: error: expected the roles of 4 stages, found 3
// GAP: error: role 1 has no stage
// FAR: error: stage 3 has role 7 of 4

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>

module attributes {train.stage_seconds = array<f64: 1.0, 1.0, 1.0, 1.0>} {

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @w2 "parameter" : !w
train.state @w3 "parameter" : !w

// CHECK: module @role0 attributes {{.*}}train.chunks = 2 : i64
// CHECK-SAME: train.split_weights
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, chunk = 1 : i64, id = 4 : i64, peer = 1 : i64}
// CHECK-SAME: train.send = {answered, id = 0 : i64, peer = 1 : i64}
// CHECK: train.neg
// CHECK: train.matmul
// CHECK: train.matmul
// CHECK: train.neg
// CHECK: train.add
// CHECK: module @role1 attributes {{.*}}train.chunks = 2 : i64
// CHECK-NOT: train.state @w0
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 0 : i64, peer = 0 : i64}
// CHECK-SAME: train.receive = {answered, chunk = 1 : i64, id = 2 : i64, peer = 1 : i64}
// CHECK-SAME: train.send = {answered, id = 2 : i64, peer = 1 : i64}
// CHECK-SAME: train.send = {answered, chunk = 1 : i64, id = 4 : i64, peer = 0 : i64}

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1},
    %w2: !w {train.state = @w2}, %w3: !w {train.state = @w3})
    -> (tensor<f32> {train.metric = "loss"}) {
  %n = train.neg %x : (!x) -> !x
  %0 = train.matmul %n, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  %2 = train.matmul %1, %w2 {train.stage = 2 : i64} : (!x, !w) -> !x
  %3 = train.matmul %2, %w3 {train.stage = 3 : i64} : (!x, !w) -> !x
  %4 = train.add %3, %n {train.stage = 3 : i64} : (!x, !x) -> !x
  %5 = train.reduce "sum" %4 {dims = array<i64: 0, 1>, train.stage = 3 : i64} : (!x) -> tensor<f32>
  return %5 : tensor<f32>
}
}
