// RUN: zc-opt %s --split-input-file --zc-build-loss="loss=none accumulate=2" | FileCheck %s

// Tests that a sum over samples, divided by a number, is a term of the loss; and
// that evaluation takes the whole batch, for which alone it is right.
// CHECK-LABEL: func.func @step(%{{.*}}: tensor<4xf32>
// CHECK: %[[SUM:.*]] = train.reduce "sum"
// CHECK: %[[LOSS:.*]] = train.div %[[SUM]]
// CHECK-NEXT: return %[[LOSS]]
// CHECK-LABEL: func.func @eval(%{{.*}}: tensor<8xf32>
func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "cost"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %n = train.constant dense<8.0> : tensor<f32>
  %1 = train.div %0, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests that a mean over the samples that count is averaged over micro-batches.
// CHECK-LABEL: func.func @step(%{{.*}}: tensor<4xf32>
// CHECK: %[[MEAN:.*]] = train.div %{{.*}}, %{{.*}}
// CHECK: %[[TWO:.*]] = train.constant dense<2.0
// CHECK: %[[LOSS:.*]] = train.div %[[MEAN]], %[[TWO]]
// CHECK-NEXT: return %[[LOSS]]
func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64},
                   %w: tensor<8xf32> {train.input = "w", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "cost"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %1 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %2 = train.div %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
