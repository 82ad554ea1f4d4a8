// RUN: zc-opt %s --zc-apply-precision=keeps-copies=false | FileCheck %s
// RUN: zc-opt %s --zc-apply-precision="keeps-copies=false type=fp16 loss-scale=8" | FileCheck %s --check-prefix=HALF

// Tests that without copies the step reads the parameter itself and rounds it in
// front of its first reader, and that a given scale of the loss adapts to nothing.
// CHECK-NOT: "copy"
// HALF: train.state @loss_scale "scalar" : tensor<f32> {draw = {constant = 8.000000e+00 : f64}}
// HALF-NOT: loss_scale.good_steps
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[W:.*]]: tensor<4x4xf32> {train.state = @w}, %[[X:.*]]: tensor<8x4xf32>
// CHECK: train.relu
// CHECK: %[[ROUNDED:.*]] = train.convert %[[W]] {rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: train.matmul %{{.*}}, %[[ROUNDED]] : {{.*}} -> tensor<8x4xbf16>
// HALF: train.convert %{{.*}} {rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xf16>
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %0, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
