// RUN: zc-opt %s --zc-assign-stages=stages=2 | FileCheck %s

// Tests that the evaluation, too, leaves to each role what the step does: an op
// of inputs alone that is a larger share of the shorter program.

!x = tensor<64x64xf32>
!w = tensor<64x64xf32>

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w

#mask = loc("mask"("mask"("Neg"("m.onnx":0:0))))
#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))

// CHECK-LABEL: func.func @step
// CHECK: train.neg
// CHECK-NOT: train.stage
// CHECK: train.mul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 1
// CHECK-LABEL: func.func @eval
// CHECK: train.neg
// CHECK-NOT: train.stage
// CHECK: train.mul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 1

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %n = train.neg %x : (!x) -> !x loc(#mask)
  %m = train.mul %n, %w0 : (!x, !w) -> !x loc(#n0)
  %0 = train.matmul %m, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  %2 = train.broadcast %1 {dims = array<i64: 1, 2>} : (!x) -> tensor<256x64x64xf32> loc(#n1)
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1, 2>} : (tensor<256x64x64xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

func.func @eval(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (!x {train.output = "y"}) {
  %n = train.neg %x : (!x) -> !x loc(#mask)
  %m = train.mul %n, %w0 : (!x, !w) -> !x loc(#n0)
  %0 = train.matmul %m, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  return %1 : !x
}
