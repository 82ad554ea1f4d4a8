// RUN: zc-opt %s --zc-build-optimizer-step | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=sgd momentum=0.9 nesterov=1" | FileCheck %s --check-prefixes=CHECK,SGD
// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,PLAIN

// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=adam weight-decay=0.1 clip-norm=0.5" | FileCheck %s --check-prefixes=CHECK,ADAM
// RUN: zc-opt %s --zc-build-optimizer-step="weight-decay=0.1 clip-norm=0.5 clip-value=2 settings-at-run-time=1" | FileCheck %s --check-prefixes=CHECK,LATER

// Tests that the gradient result becomes new values of the parameter and its
// moments.
train.state @w "parameter" : tensor<4xf32> {source = {file = "w", offset = 0 : i64, length = 16 : i64}}
// CHECK-DAG: train.state @lr "scalar" : tensor<f32>
// CHECK-DAG: train.state @optimizer.step "scalar" : tensor<i64>
// ADAMW-DAG: train.state @state.w.exp_avg "optimizer" : tensor<4xf32> {parameter = "w", slot = "exp_avg"}
// ADAMW-DAG: train.state @state.w.exp_avg_sq "optimizer"
// SGD-DAG: train.state @state.w.momentum_buffer "optimizer"
// PLAIN-NOT: "optimizer" : tensor<4xf32>
// LATER-DAG: train.state @setting.beta1 "scalar" : tensor<f64> {draw = {constant = 9.000000e-01 : f64}}
// LATER-DAG: train.state @setting.beta2 "scalar" : tensor<f64> {draw = {constant = 0.99{{[89]+}} : f64}}
// LATER-DAG: train.state @"setting.weight-decay" "scalar" : tensor<f64> {draw = {constant = 1.000000e-01 : f64}}
// LATER-DAG: train.state @"setting.clip-norm" "scalar" : tensor<f64> {draw = {constant = 5.000000e-01 : f64}}
// LATER-DAG: train.state @"setting.clip-value" "scalar" : tensor<f64> {draw = {constant = 2.000000e+00 : f64}}
// PLAIN-NOT: setting
// CHECK-LABEL: func.func @step
// CHECK-NOT: train.gradient =
// CHECK-SAME: {train.metric = "loss"}, tensor<i64> {train.state = @optimizer.step}, tensor<f32> {train.metric = "grad_norm"}, tensor<4xf32> {train.state = @w}
// ADAMW: train.pow
// ADAMW: train.sqrt
// SGD-NOT: train.pow
// LATER-DAG: train.convert %{{.*}} : (tensor<f64>) -> tensor<f32>
// ADAM: train.reduce "sum_square"
// ADAM: %[[NORM:.*]] = train.sqrt
// ADAM: train.div %{{.*}}, %{{.*}}
// ADAM: %[[FACTOR:.*]] = train.min
// ADAM: %[[SPREAD:.*]] = train.broadcast %[[FACTOR]]
// ADAM: train.mul %{{.*}}, %[[SPREAD]]
func.func @step(%w: tensor<4xf32> {train.state = @w}, %x: tensor<4xf32> {train.input = "x"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf32> {train.gradient = @w}) {
  %0 = train.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1, %x : tensor<f32>, tensor<4xf32>
}
