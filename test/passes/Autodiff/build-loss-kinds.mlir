// RUN: zc-opt %s --zc-build-loss=loss=bce-with-logits | FileCheck %s --check-prefix=BCE
// RUN: zc-opt %s --zc-build-loss="loss=none logits=cost" | FileCheck %s --check-prefix=NONE

// Tests that binary labels have the logits' type and are judged in evaluation.
// BCE-LABEL: func.func @step
// BCE-SAME: tensor<8x3xf32> {train.batch_dim = 0 : i64, train.input = "labels", train.label}
// BCE: train.softplus
// BCE-LABEL: func.func @eval
// BCE-SAME: {train.metric = "correct_sum"}

// Tests that a model's own loss takes no labels.
// NONE-LABEL: func.func @step
// NONE-SAME: (%[[X:[^ ]*]]: tensor<8x3xf32> {{[^)]*}}) -> (tensor<f32> {train.metric = "loss"})
// NONE: train.reduce "sum" %[[X]]
// NONE-LABEL: func.func @eval
// NONE-SAME: {train.metric = "loss_sum"}
// NONE-NOT: train.label
func.func @forward(%x: tensor<8x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<8x3xf32> {train.output = "y", train.batch_dim = 0 : i64}, tensor<1xf32> {train.output = "cost"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %1 = train.reshape %0 : (tensor<f32>) -> tensor<1xf32>
  return %x, %1 : tensor<8x3xf32>, tensor<1xf32>
}
