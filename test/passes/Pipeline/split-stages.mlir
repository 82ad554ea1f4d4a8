// RUN: zc-opt %s --split-input-file --zc-split-stages | FileCheck %s

// Tests that a skip goes straight to the role that reads it, that a tied
// parameter is in both roles, that cheap ops are in each, and that both ends of a
// message agree.

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>

module attributes {train.stage_seconds = array<f64: 1.0, 1.0, 1.0>} {

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @c "constant" : !x

// CHECK: module @role0 attributes {{.*}}train.role = 0
// CHECK: train.state @w0 "parameter" {{.*}}holders = array<i64: 0, 2>
// CHECK-NOT: train.state @w1
// CHECK: func.func @step
// CHECK-NOT: train.receive
// CHECK-SAME: train.batch_dim = 0 : i64, train.send = {answered, id = 0 : i64, peer = 1 : i64}
// CHECK-SAME: train.batch_dim = 0 : i64, train.send = {answered, id = 2 : i64, peer = 2 : i64}
// CHECK: %[[A:.*]] = train.matmul
// CHECK: return %[[A]], %[[A]]
// CHECK: func.func @eval
// CHECK-NOT: train.metric
// CHECK: module @role1 attributes {{.*}}train.role = 1
// CHECK-NOT: train.state @w0
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 0 : i64, peer = 0 : i64}
// CHECK-SAME: train.send = {answered, id = 4 : i64, peer = 2 : i64}
// CHECK: train.neg
// CHECK: module @role2 attributes {{.*}}train.role = 2
// CHECK: train.state @w0 "parameter" {{.*}}holders = array<i64: 0, 2>
// CHECK: func.func @step
// CHECK-SAME: train.receive = {answered, id = 4 : i64, peer = 1 : i64}
// CHECK-SAME: train.receive = {answered, id = 2 : i64, peer = 0 : i64}
// CHECK-SAME: train.metric = "loss"
// CHECK: train.neg

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %c: !x {train.state = @c},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %n = train.neg %c : (!x) -> !x
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  %2 = train.add %1, %n {train.stage = 1 : i64} : (!x, !x) -> !x
  %3 = train.matmul %2, %w0 {train.stage = 2 : i64} : (!x, !w) -> !x
  %4 = train.add %3, %0 {train.stage = 2 : i64} : (!x, !x) -> !x
  %5 = train.add %4, %n {train.stage = 2 : i64} : (!x, !x) -> !x
  %6 = train.reduce "sum" %5 {dims = array<i64: 0, 1>, train.stage = 2 : i64} : (!x) -> tensor<f32>
  return %6 : tensor<f32>
}

func.func @eval(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (!x {train.output = "y"}, tensor<f32> {train.metric = "loss_sum"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  %2 = train.matmul %1, %w0 {train.stage = 2 : i64} : (!x, !w) -> !x
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1>, train.stage = 2 : i64} : (!x) -> tensor<f32>
  return %2, %3 : !x, tensor<f32>
}
}

// -----

// A view is made by each stage that reads it, so that its value goes straight to
// the third one, and once to the second, which reads it in both shapes.

!x = tensor<2x4x8xf32>
!v = tensor<8x8xf32>

module attributes {train.stage_seconds = array<f64: 1.0, 1.0, 1.0>} {

train.state @w0 "parameter" : !v
train.state @w1 "parameter" : !v
train.state @w2 "parameter" : !v

// CHECK: module @role0
// CHECK: func.func @step
// CHECK-SAME: -> (tensor<2x4x8xf32> {{{.*}}train.send = {answered, id = 0 : i64, peer = 1 : i64}},
// CHECK-SAME: tensor<2x4x8xf32> {{{.*}}train.send = {answered, id = 2 : i64, peer = 2 : i64}})
// CHECK: module @role1
// CHECK: func.func @step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x8xf32> {{{.*}}train.receive = {answered, id = 0 : i64, peer = 0 : i64}}
// CHECK: %[[V:.*]] = train.reshape %[[X]]
// CHECK-NEXT: train.matmul %[[V]]
// CHECK: module @role2
// CHECK: func.func @step
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x4x8xf32> {{{.*}}train.receive = {answered, id = 2 : i64, peer = 0 : i64}}
// CHECK: %[[W:.*]] = train.reshape %[[Y]]
// CHECK-NEXT: train.matmul %[[W]]

func.func @step(%x: !v {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !v {train.state = @w0}, %w1: !v {train.state = @w1},
    %w2: !v {train.state = @w2}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!v, !v) -> !v
  %1 = train.reshape %0 {train.stage = 0 : i64} : (!v) -> !x
  %2 = train.neg %1 {train.stage = 0 : i64} : (!x) -> !x
  %3 = train.reshape %2 {train.stage = 1 : i64} : (!x) -> !v
  %4 = train.matmul %3, %w1 {train.stage = 1 : i64} : (!v, !v) -> !v
  %5 = train.neg %2 {train.stage = 1 : i64} : (!x) -> !x
  %6 = train.reshape %5 {train.stage = 1 : i64} : (!x) -> !v
  %7 = train.add %4, %6 {train.stage = 1 : i64} : (!v, !v) -> !v
  %8 = train.matmul %3, %w2 {train.stage = 2 : i64} : (!v, !v) -> !v
  %9 = train.add %7, %8 {train.stage = 2 : i64} : (!v, !v) -> !v
  %10 = train.reduce "sum" %9 {dims = array<i64: 0, 1>, train.stage = 2 : i64} : (!v) -> tensor<f32>
  return %10 : tensor<f32>
}
}

// -----

// A value that joined samples, as a shift of a video's frames does, and has them
// apart again is divided by ranks of samples as its like; one that has them
// joined is not: there may be more ranks than videos.

!x = tensor<2x4x8xf32>
!v = tensor<8x8xf32>

module attributes {train.stage_seconds = array<f64: 1.0, 1.0>} {

train.state @w0 "parameter" : !v
train.state @w1 "parameter" : !v

// CHECK: module @role0
// CHECK: func.func @step
// CHECK-SAME: -> (tensor<2x4x8xf32> {train.send = {answered, id = 0 : i64, peer = 1 : i64}},
// CHECK-SAME: tensor<8x8xf32> {train.batch_dim = 0 : i64, train.send = {answered, id = 2 : i64, peer = 1 : i64}})

func.func @step(%x: !v {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !v {train.state = @w0}, %w1: !v {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!v, !v) -> !v
  %1 = train.reshape %0 {train.stage = 0 : i64} : (!v) -> !x
  %2 = train.exp %1 {train.stage = 0 : i64} : (!x) -> !x
  %3 = train.reshape %2 {train.stage = 0 : i64} : (!x) -> !v
  %4 = train.exp %3 {train.stage = 0 : i64} : (!v) -> !v
  %5 = train.matmul %4, %w1 {train.stage = 1 : i64} : (!v, !v) -> !v
  %6 = train.reshape %5 {train.stage = 1 : i64} : (!v) -> !x
  %7 = train.add %2, %6 {train.stage = 1 : i64} : (!x, !x) -> !x
  %8 = train.reduce "sum" %7 {dims = array<i64: 0, 1, 2>, train.stage = 1 : i64} : (!x) -> tensor<f32>
  return %8 : tensor<f32>
}
}
