// RUN: zc-opt %s --zc-assign-stages="stages=2 micro-batches=8 in-flight=8,1" | FileCheck %s --check-prefix=EVEN
// RUN: zc-opt %s --zc-assign-stages="stages=2 micro-batches=8 in-flight=1,1 memory-bytes=2200000" | FileCheck %s --check-prefix=UNEVEN
// RUN: zc-opt %s --zc-assign-stages="stages=2 micro-batches=8 in-flight=8,1 memory-bytes=2800000 bytes-per-parameter=4" | FileCheck %s --check-prefix=UNEVEN
// RUN: zc-opt %s --zc-assign-stages="stages=2 micro-batches=8 in-flight=8,1 memory-bytes=2800000 bytes-per-parameter=4 sample-shares=8" | FileCheck %s --check-prefix=EVEN
// RUN: zc-opt %s --zc-assign-stages="stages=2 micro-batches=8 in-flight=8,1 memory-bytes=2800000 bytes-per-parameter=4 keeps-crossing" | FileCheck %s --check-prefix=EVEN

// Tests that stages of equal time give way to stages that fit: where the
// parameters of the first and their moments are large, and where it keeps many
// micro-batches. Tensors that ranks divide, or compute again, count less.

!x = tensor<1024x32xf32>
!w = tensor<32x32xf32>

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
train.state @w2 "parameter" : !w
train.state @w3 "parameter" : !w
train.state @p0 "parameter" : !x
train.state @p1 "parameter" : !x

// EVEN-COUNT-2: train.matmul {{.*}}train.stage = 0
// EVEN-COUNT-2: train.matmul {{.*}}train.stage = 1

// UNEVEN-COUNT-1: train.matmul {{.*}}train.stage = 0
// UNEVEN-COUNT-3: train.matmul {{.*}}train.stage = 1

#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))
#n2 = loc("n2"("fc.2"("MatMul"("m.onnx":0:0))))
#n3 = loc("n3"("fc.3"("MatMul"("m.onnx":0:0))))

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1},
    %w2: !w {train.state = @w2}, %w3: !w {train.state = @w3},
    %p0: !x {train.state = @p0}, %p1: !x {train.state = @p1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.add %0, %p0 : (!x, !x) -> !x loc(#n0)
  %2 = train.matmul %1, %w1 : (!x, !w) -> !x loc(#n1)
  %3 = train.add %2, %p1 : (!x, !x) -> !x loc(#n1)
  %4 = train.matmul %3, %w2 : (!x, !w) -> !x loc(#n2)
  %5 = train.add %4, %4 : (!x, !x) -> !x loc(#n2)
  %6 = train.matmul %5, %w3 : (!x, !w) -> !x loc(#n3)
  %7 = train.add %6, %6 : (!x, !x) -> !x loc(#n3)
  %8 = train.reduce "sum" %7 {dims = array<i64: 0, 1>} : (!x) -> tensor<f32>
  return %8 : tensor<f32>
}
