// RUN: zc-opt %s --zc-build-loss=loss=mse | FileCheck %s
// RUN: zc-opt %s --zc-build-loss=mode=infer | FileCheck %s --check-prefix=INFER
// RUN: zc-opt %s --zc-build-loss="loss=mse accumulate=2" | FileCheck %s --check-prefix=MICRO

// Tests that training drops by a key of its own for each op, made of seed and
// step, and by the element's place; and that nothing else does.
// CHECK-DAG: train.state @seed "scalar" : tensor<i64>
// CHECK-DAG: train.state @optimizer.step "scalar" : tensor<i64>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[SEED:[^ ]*]]: tensor<i64> {train.state = @seed}, %[[COUNT:[^ ]*]]: tensor<i64> {train.state = @optimizer.step}
// CHECK: %[[STEP:.*]] = train.random_key %[[SEED]], %[[COUNT]]
// CHECK: %[[FIRST:.*]] = train.random_key %[[STEP]], %{{.*}}
// CHECK: %[[KEY:.*]] = train.broadcast %[[FIRST]]
// CHECK: train.constant dense<[0, 1, 2]>
// CHECK: train.constant dense<[0, 3, 6, 9]>
// CHECK: train.dropout_training %{{.*}}, %[[KEY]], %{{.*}}, %{{.*}} {ratio = 2.5{{.*}}}
// CHECK: %[[SECOND:.*]] = train.random_key %[[STEP]], %{{.*}}
// CHECK: train.dropout_training
// CHECK-LABEL: func.func @eval
// CHECK-NOT: dropout

// INFER-LABEL: func.func @eval
// INFER-NOT: dropout
// INFER: return %arg0

// MICRO-LABEL: func.func @step
// MICRO-SAME: tensor<2x3xf32> {train.batch_dim = 0
// MICRO-SAME: %[[PART:[^ ]*]]: tensor<i64> {train.state = @micro_batch}
// MICRO-SAME: tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "loss_count"}
// MICRO: train.random_key %{{.*}}, %[[PART]]
// MICRO: train.constant dense<[0, 3]>
func.func @forward(%x: tensor<4x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<4x3xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.dropout %x {ratio = 0.25 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = train.dropout %0 {ratio = 0.5 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}
