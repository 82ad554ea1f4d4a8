// RUN: zc-opt %s --zc-build-loss="loss=mse accumulate=2 divide-sums=true" | FileCheck %s
// RUN: zc-opt %s --zc-build-loss="loss=mse divide-sums=true" | FileCheck %s --check-prefix=WHOLE

// Tests that a micro-batch's sum of 12 losses of 24, and their count, are in
// units of 32, and that a mean, of the whole batch, stays one.
// CHECK-LABEL: func.func @step
// CHECK: %[[SUM:.*]] = train.reduce "sum"
// CHECK: %[[UNIT:.*]] = train.constant dense<3.125000e-02> : tensor<f32>
// CHECK: %[[LOSS:.*]] = train.mul %[[SUM]], %[[UNIT]]
// CHECK: %[[COUNT:.*]] = train.mul
// CHECK: return %[[LOSS]], %[[COUNT]]
// WHOLE-LABEL: func.func @step
// WHOLE-NOT: 3.125000e-02
// WHOLE: return
train.state @w "parameter" : tensor<4x4xf32> {source = {file = "w", offset = 0 : i64, length = 64 : i64}}
func.func @forward(%w: tensor<4x4xf32> {train.state = @w},
                   %x: tensor<6x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<6x4xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.matmul %x, %w : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
