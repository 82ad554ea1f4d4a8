// RUN: not zc-opt %s --zc-assign-stages=stages=3 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not zc-opt %s --zc-assign-stages="stages=2 patterns='n0 2'" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not zc-opt %s --zc-assign-stages="stages=2 patterns='n9 1'" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not zc-opt %s --zc-assign-stages="stages=2 patterns='n1 0'" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not zc-opt %s --zc-assign-stages="stages=2 patterns='n2 1'" 2>&1 | FileCheck %s --check-prefix=FROZEN

// MANY: error: {{.*}}cannot be cut into 3 stages: only 2 places of it have trained parameters; expected 2 stages at most
// NUMBER: error: {{.*}}stages: expected a stage from 0 to 1, found 'n0 2'
// NONE: error: {{.*}}stages: 'n9' finds no node and no module of the model
// EMPTY: error: {{.*}}stages: stage 1 of 2 has no node
// FROZEN: error: {{.*}}stages: stage 1 of 2 trains no parameter, so that it has nothing to update; give it a node that reads one

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w

#n0 = loc("n0"("fc.0"("MatMul"("m.onnx":0:0))))
#n1 = loc("n1"("fc.1"("MatMul"("m.onnx":0:0))))
#n2 = loc("n2"("fc.2"("Add"("m.onnx":0:0))))

func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 : (!x, !w) -> !x loc(#n0)
  %1 = train.matmul %0, %w1 : (!x, !w) -> !x loc(#n1)
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (!x) -> tensor<f32> loc(#n2)
  return %2 : tensor<f32>
}
