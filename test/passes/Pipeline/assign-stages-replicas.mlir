// RUN: zc-opt %s --split-input-file --zc-assign-stages="stages=2 deals-roles micro-batches=2" | FileCheck %s
// RUN: not zc-opt %s --split-input-file --zc-assign-stages="stages=9 deals-roles micro-batches=1" 2>&1 | FileCheck %s --check-prefix=FEW

// Tests that roles are dealt by cost. Few parameters, read by much: all roles
// have the one stage, which is data parallelism.

// FEW: error: cannot be dealt to 9 roles with 1 micro-batches: there are too few places with trained parameters, or fewer micro-batches than replicas

!x = tensor<4096x64xf32>
!w = tensor<64x64xf32>

#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))

// CHECK: module attributes {{.*}}train.stage_replicas = array<i64: 2>
module {
train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w

// CHECK-LABEL: func.func @step
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 0

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (!x) -> tensor<f32> loc(#n1)
  return %2 : tensor<f32>
}
}

// -----

// Many parameters, read for one row: their gradients' sum would take longer
// than all the rest, so that each role has a stage of its own.

!x = tensor<1x2048xf32>
!w = tensor<2048x2048xf32>

#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))

// CHECK: module attributes {{.*}}train.stage_replicas = array<i64: 1, 1>
module {
train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w

// CHECK-LABEL: func.func @step
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 1

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (!x) -> tensor<f32> loc(#n1)
  return %2 : tensor<f32>
}
}
