// RUN: zc-opt %s --zc-apply-precision=type=fp16 | FileCheck %s

// Tests that a square which is added up alone has float32, where 16 bits would
// make 0 of it, and that any other square is as narrow as its factor.
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK: %[[Y:.*]] = train.matmul {{.*}} -> tensor<8x4xf16>
// CHECK: %[[WIDE:.*]] = train.convert %[[Y]] : (tensor<8x4xf16>) -> tensor<8x4xf32>
// CHECK: %[[SQUARE:.*]] = train.mul %[[WIDE]], %[[WIDE]] : (tensor<8x4xf32>
// CHECK: train.reduce "sum" %[[SQUARE]]
// CHECK: train.mul %[[Y]], %[[Y]] : (tensor<8x4xf16>
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}, tensor<8x4xf32> {train.output = "y"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.mul %0, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %3 = train.mul %0, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = train.relu %3 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2, %4 : tensor<f32>, tensor<8x4xf32>
}
