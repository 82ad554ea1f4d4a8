// RUN: zc-opt %s --zc-build-backward | FileCheck %s

// Tests that the gradient of a parameter that is rounded where it is read has 16
// bits, and that the backward rounds the parameter once more.
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<4x4xbf16> {train.gradient = @w}
// CHECK: train.convert %{{.*}} {rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: train.reduce
// CHECK: %[[AGAIN:.*]] = train.convert %{{.*}} {of_backward, rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: train.matmul %{{.*}}, %[[AGAIN]] {transpose_rhs}
// CHECK: return %{{.*}}, %{{.*}} : tensor<f32>, tensor<4x4xbf16>
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<8x4xbf16> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.convert %w {rounds_parameter} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %1 = train.matmul %x, %0 : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %2 = train.matmul %1, %0 : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1>} : (tensor<8x4xbf16>) -> tensor<f32>
  return %3 : tensor<f32>
}
