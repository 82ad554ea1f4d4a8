// RUN: zc-opt %s --zc-assign-stages=stages=2 | FileCheck %s
// RUN: zc-opt %s --zc-assign-stages="stages=3 micro-batches=8" | FileCheck %s --check-prefix=THREE
// RUN: zc-opt %s --zc-assign-stages="stages=2 patterns='n2 1'" | FileCheck %s --check-prefix=RULES

// Tests that consecutive ops get stages of about equal time, that each role
// computes cheap ops of inputs for itself, and that evaluation follows the nodes,
// with sums of labels where the loss is.

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @w2 "parameter" : !w
train.state @w3 "parameter" : !w

// CHECK-LABEL: func.func @step
// CHECK: train.neg
// CHECK-NOT: train.stage
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 1
// CHECK: train.matmul {{.*}}train.stage = 1
// CHECK: train.reduce {{.*}}train.stage = 1
// CHECK-LABEL: func.func @eval
// CHECK: train.matmul {{.*}}train.stage = 0
// CHECK: train.matmul {{.*}}train.stage = 1
// CHECK: train.reduce {{.*}}train.stage = 1

// THREE-LABEL: func.func @step
// THREE: train.matmul {{.*}}train.stage = 0
// THREE: train.matmul {{.*}}train.stage = 1
// THREE: train.matmul {{.*}}train.stage = 2

// RULES-LABEL: func.func @step
// RULES: train.matmul {{.*}}train.stage = 0
// RULES: train.matmul {{.*}}train.stage = 0
// RULES: train.matmul {{.*}}train.stage = 1
// RULES: train.matmul {{.*}}train.stage = 1

#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))
#n2 = loc("n2"("fc.2"("MatMul"("m.onnx":0:0))))
#n3 = loc("n3"("fc.3"("MatMul"("m.onnx":0:0))))

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %m: tensor<8xf32> {train.input = "mask", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1},
    %w2: !w {train.state = @w2}, %w3: !w {train.state = @w3})
    -> (tensor<f32> {train.metric = "loss"}) {
  %n = train.neg %m : (tensor<8xf32>) -> tensor<8xf32>
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  %2 = train.matmul %1, %w2 : (!x, !w) -> !x loc(#n2)
  %3 = train.matmul %2, %w3 : (!x, !w) -> !x loc(#n3)
  %4 = train.broadcast %n {dims = array<i64: 0>} : (tensor<8xf32>) -> !x
  %5 = train.mul %3, %4 : (!x, !x) -> !x
  %6 = train.reduce "sum" %5 {dims = array<i64: 0, 1>} : (!x) -> tensor<f32>
  return %6 : tensor<f32>
}

func.func @eval(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %l: tensor<8x512xf32> {train.input = "labels", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w3: !w {train.state = @w3})
    -> (!x {train.output = "y"}, tensor<f32> {train.metric = "weight_sum"}) {
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w3 : (!x, !w) -> !x loc(#n3)
  %2 = train.reduce "sum" %l {dims = array<i64: 0, 1>} : (tensor<8x512xf32>) -> tensor<f32>
  return %1, %2 : !x, tensor<f32>
}
