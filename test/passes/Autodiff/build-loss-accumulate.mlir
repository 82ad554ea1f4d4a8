// RUN: zc-opt %s --split-input-file --zc-build-loss="loss=mse accumulate=2" | FileCheck %s

// Tests that the batch is divided through reshapes and transposes, in constants
// too, and that a dim of the same size that counts nothing stays.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^ ]*]]: tensor<2x3x4xf32>
// CHECK: train.transpose %[[X]] {{.*}} -> tensor<3x2x4xf32>
// CHECK: train.reshape %{{.*}} -> tensor<6x4xf32>
// CHECK: train.matmul %{{.*}} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
// CHECK: train.constant dense<2.000000e+00> : tensor<6x4xf32>
// CHECK: train.reshape %{{.*}} -> tensor<3x2x4xf32>
// CHECK-LABEL: func.func @eval
// CHECK-SAME: tensor<2x3x4xf32>
train.state @w "parameter" : tensor<4x4xf32> {source = {file = "w", offset = 0 : i64, length = 64 : i64}}
func.func @forward(%w: tensor<4x4xf32> {train.state = @w},
                   %x: tensor<4x3x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<3x4x4xf32> {train.output = "y", train.batch_dim = 1 : i64}) {
  %0 = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x3x4xf32>) -> tensor<3x4x4xf32>
  %1 = train.reshape %0 : (tensor<3x4x4xf32>) -> tensor<12x4xf32>
  %2 = train.matmul %1, %w : (tensor<12x4xf32>, tensor<4x4xf32>) -> tensor<12x4xf32>
  %two = train.constant dense<2.0> : tensor<12x4xf32>
  %3 = train.mul %2, %two : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
  %4 = train.reshape %3 : (tensor<12x4xf32>) -> tensor<3x4x4xf32>
  return %4 : tensor<3x4x4xf32>
}

// -----

// Tests samples that are frames of two videos: a part has whole videos, and
// what is added to them is divided alike, whichever samples it counts.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x2xf32>
// CHECK: train.reshape %[[X]] : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
// CHECK: train.slice %{{.*}} -> tensor<1x3x2xf32>
// CHECK: train.reshape %{{.*}} : (tensor<1x4x2xf32>) -> tensor<4x2xf32>
// CHECK: train.add %[[X]], %{{.*}} -> tensor<4x2xf32>
// CHECK-LABEL: func.func @eval
func.func @forward(%x: tensor<8x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<8x2xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.reshape %x : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 1, 0>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x2xf32>) -> tensor<2x3x2xf32>
  %2 = train.slice %0 {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<2x4x2xf32>) -> tensor<2x1x2xf32>
  %3 = train.concat %1, %2 {dim = 1 : i64} : (tensor<2x3x2xf32>, tensor<2x1x2xf32>) -> tensor<2x4x2xf32>
  %4 = train.reshape %3 : (tensor<2x4x2xf32>) -> tensor<8x2xf32>
  %5 = train.add %x, %4 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %5 : tensor<8x2xf32>
}
