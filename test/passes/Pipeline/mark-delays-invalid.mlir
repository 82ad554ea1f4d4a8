// RUN: not zc-opt %s --split-input-file --zc-mark-delays='delays=1,0' 2>&1 | FileCheck %s

// Tests that parameters of several stages, stages that have no delay, and
// modules without a step are refused.

// CHECK: error: 'w' is read by stages 0 and 1, whose gradients of it would have to be added up before each update
train.state @w "parameter" : tensor<4xf32>
func.func @step(%x: tensor<4xf32> {train.input = "x"},
    %w: tensor<4xf32> {train.state = @w}) -> tensor<4xf32> {
  %0 = train.mul %x, %w {train.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.mul %0, %w {train.stage = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK: error: 'w' is read by stage 2 of 2
train.state @w "parameter" : tensor<4xf32>
func.func @step(%x: tensor<4xf32> {train.input = "x"},
    %w: tensor<4xf32> {train.state = @w}) -> tensor<4xf32> {
  %0 = train.mul %x, %w {train.stage = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: error: expected @step
module {
}
