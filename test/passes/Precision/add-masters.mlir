// RUN: zc-opt %s --split-input-file --zc-add-masters | FileCheck %s

// Tests that a parameter of 16 bits becomes one of float32, whose file stays,
// that the step reads a copy of it, and that the evaluation rounds it.
// CHECK: train.state @w "parameter" : tensor<4x4xf32> {source = {{.*}}type = bf16}}
// CHECK: train.state @b "parameter" : tensor<2xf32> {value = dense<[1.000000e+00, -5.000000e-01]> : tensor<2xf32>}
// CHECK: train.state @wide "parameter" : tensor<4xf32>
// CHECK: train.state @table "constant" : tensor<4xbf16>
// CHECK: train.state @w.bf16 "copy" : tensor<4x4xbf16> {parameter = "w"}
// CHECK-NOT: train.state @b.bf16
train.state @w "parameter" : tensor<4x4xbf16> {source = {file = "m.data", length = 32 : i64, offset = 0 : i64}}
train.state @b "parameter" : tensor<2xbf16> {value = dense<[1.0, -0.5]> : tensor<2xbf16>}
train.state @wide "parameter" : tensor<4xf32>
train.state @table "constant" : tensor<4xbf16>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:.*]]: tensor<4x4xbf16> {train.state = @w.bf16}
// CHECK-SAME: tensor<4xf32> {train.state = @wide}
// CHECK: train.matmul %{{.*}}, %[[W]]
func.func @step(%w: tensor<4x4xbf16> {train.state = @w}, %wide: tensor<4xf32> {train.state = @wide},
    %x: tensor<8x4xbf16> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0, 1>} : (tensor<8x4xbf16>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @eval
// CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {train.state = @w}
// CHECK: %[[R:.*]] = train.convert %[[W]] : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: train.matmul %{{.*}}, %[[R]]
func.func @eval(%w: tensor<4x4xbf16> {train.state = @w},
    %x: tensor<8x4xbf16> {train.input = "x"}) -> (tensor<8x4xbf16> {train.output = "y"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// -----

// Tests that float16 needs a scaled loss.
// CHECK-DAG: train.state @w.fp16 "copy" : tensor<4xf16> {parameter = "w"}
// CHECK-DAG: train.state @loss_scale "scalar" : tensor<f32>
train.state @w "parameter" : tensor<4xf16>
func.func @step(%w: tensor<4xf16> {train.state = @w}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xf16>) -> tensor<f32>
  return %0 : tensor<f32>
}
