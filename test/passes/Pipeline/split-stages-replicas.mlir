// RUN: zc-opt %s --zc-split-stages='replicas=2,1,2' | FileCheck %s
// RUN: not zc-opt %s --zc-split-stages='replicas=2,1' 2>&1 | FileCheck --check-prefix=SHORT %s
// RUN: not zc-opt %s --zc-split-stages='replicas=2,0,1' 2>&1 | FileCheck --check-prefix=NONE %s

// Tests stages that several roles have, which take micro-batches in turn: each
// pair of replicas has messages of its own, with numbers a step apart, and they
// hold the parameters of their stage together.

// SHORT: error: expected the replicas of 3 stages, found 2
// NONE: error: a stage has 0 replicas

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>

module attributes {train.stage_seconds = array<f64: 2.0, 1.0, 2.0>} {

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @w2 "parameter" : !w

// The skip from stage 0 to stage 2 has the numbers from 4 on: four pairs, of
// which the two that compute one micro-batch meet.
// CHECK: module @role0 attributes {{.*}}train.turn = 0 : i64, train.turns = 2 : i64
// CHECK: train.state @w0 "parameter" : tensor<64x64xf32> {holders = array<i64: 0, 1>}
// CHECK: func.func @step
// CHECK-SAME: train.send = {answered, id = 0 : i64, peer = 2 : i64}
// CHECK-SAME: train.send = {answered, id = 4 : i64, peer = 3 : i64, peers = 2 : i64, step = 2 : i64}
// CHECK: module @role1 attributes {{.*}}train.turn = 1 : i64, train.turns = 2 : i64
// CHECK: func.func @step
// CHECK-SAME: train.send = {answered, id = 2 : i64, peer = 2 : i64}
// CHECK-SAME: train.send = {answered, id = 8 : i64, peer = 3 : i64, peers = 2 : i64, step = 2 : i64}
// CHECK: module @role2
// CHECK-NOT: train.turn
// CHECK-NOT: holders
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 0 : i64, peer = 0 : i64, peers = 2 : i64, step = 2 : i64}
// CHECK-SAME: train.send = {answered, id = 12 : i64, peer = 3 : i64, peers = 2 : i64, step = 2 : i64}
// CHECK: module @role3 attributes {{.*}}train.turn = 0 : i64
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 12 : i64, peer = 2 : i64}
// CHECK-SAME: train.receive = {answered, id = 4 : i64, peer = 0 : i64, peers = 2 : i64, step = 4 : i64}
// CHECK: module @role4 attributes {{.*}}train.turn = 1 : i64
// CHECK: train.state @w2 "parameter" : tensor<64x64xf32> {holders = array<i64: 3, 4>}
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 14 : i64, peer = 2 : i64}
// CHECK-SAME: train.receive = {answered, id = 6 : i64, peer = 0 : i64, peers = 2 : i64, step = 4 : i64}

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1},
    %w2: !w {train.state = @w2})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  %2 = train.matmul %1, %w2 {train.stage = 2 : i64} : (!x, !w) -> !x
  %3 = train.add %2, %0 {train.stage = 2 : i64} : (!x, !x) -> !x
  %4 = train.reduce "sum" %3 {dims = array<i64: 0, 1>, train.stage = 2 : i64} : (!x) -> tensor<f32>
  return %4 : tensor<f32>
}
}
