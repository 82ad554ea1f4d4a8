// RUN: zc-opt %s --zc-add-masters="keeps-copies=false" | FileCheck %s

// Tests that without copies the step rounds the master of a parameter of 16 bits
// in front of what reads it.
// CHECK: train.state @w "parameter" : tensor<4x4xf32>
// CHECK-NOT: train.state @w.bf16
train.state @w "parameter" : tensor<4x4xbf16>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {train.state = @w}
// CHECK: %[[R:.*]] = train.convert %[[W]] {rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: train.matmul %{{.*}}, %[[R]]
func.func @step(%w: tensor<4x4xbf16> {train.state = @w},
    %x: tensor<8x4xbf16> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0, 1>} : (tensor<8x4xbf16>) -> tensor<f32>
  return %1 : tensor<f32>
}
