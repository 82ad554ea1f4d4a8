// RUN: zc-opt %s --zc-mark-tokens="parts=2" --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-mark-tokens="parts=2 dims=x=none" --split-input-file | FileCheck %s
// Tests what may make tokens in front of an attention.

// Windows that share no place are patches: a token is of its own.
// CHECK-LABEL: func.func @step
// CHECK: train.max_pool
func.func @step(%x: tensor<2x12x12xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %y: tensor<2x4x2x6xf32> {train.input = "y", train.batch_dim = 0 : i64}) -> tensor<2x4x2x6xf32> {
  %mixed = train.max_pool %x {window = array<i64: 3>, strides = array<i64: 3>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<2x12x12xf32>) -> tensor<2x12x4xf32>
  %t = train.transpose %mixed {permutation = array<i64: 0, 2, 1>} : (tensor<2x12x4xf32>) -> tensor<2x4x12xf32>
  %q = train.reshape %t : (tensor<2x4x12xf32>) -> tensor<2x4x2x6xf32>
  %result, %sums = train.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> (tensor<2x4x2x6xf32>, tensor<2x2x4xf32>)
  %all = train.add %result, %y : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> tensor<2x4x2x6xf32>
  return %all : tensor<2x4x2x6xf32>
}
