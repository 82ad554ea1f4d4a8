// RUN: zc-opt %s --zc-mark-tokens="parts=2 dims=x=none" --split-input-file | FileCheck %s
// Tests that every rank computes the tokens of an input that the user says to be
// whole.

// CHECK-LABEL: func.func @step
// CHECK-SAME: train.no_tokens
// CHECK: train.max_pool
func.func @step(%x: tensor<2x12x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %y: tensor<2x4x2x6xf32> {train.input = "y", train.batch_dim = 0 : i64}) -> tensor<2x4x2x6xf32> {
  %mixed = train.max_pool %x {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>} : (tensor<2x12x4xf32>) -> tensor<2x12x4xf32>
  %t = train.transpose %mixed {permutation = array<i64: 0, 2, 1>} : (tensor<2x12x4xf32>) -> tensor<2x4x12xf32>
  %q = train.reshape %t : (tensor<2x4x12xf32>) -> tensor<2x4x2x6xf32>
  %result, %sums = train.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> (tensor<2x4x2x6xf32>, tensor<2x2x4xf32>)
  %all = train.add %result, %y : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> tensor<2x4x2x6xf32>
  return %all : tensor<2x4x2x6xf32>
}

// -----

#node = loc("recurrence")
// CHECK-LABEL: func.func @step
// CHECK-SAME: train.no_tokens
// CHECK: train.concat
func.func @step(%x: tensor<2x4x12xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %y: tensor<2x4x2x6xf32> {train.input = "y", train.batch_dim = 0 : i64}) -> tensor<2x4x2x6xf32> {
  %e:4 = train.split %x {dim = 1 : i64} : (tensor<2x4x12xf32>) -> (tensor<2x1x12xf32>, tensor<2x1x12xf32>, tensor<2x1x12xf32>, tensor<2x1x12xf32>) loc(#node)
  %a = train.add %e#0, %e#1 : (tensor<2x1x12xf32>, tensor<2x1x12xf32>) -> tensor<2x1x12xf32> loc(#node)
  %all_of = train.concat %e#0, %a, %e#2, %e#3 {dim = 1 : i64} : (tensor<2x1x12xf32>, tensor<2x1x12xf32>, tensor<2x1x12xf32>, tensor<2x1x12xf32>) -> tensor<2x4x12xf32> loc(#node)
  %q = train.reshape %all_of : (tensor<2x4x12xf32>) -> tensor<2x4x2x6xf32>
  %result, %sums = train.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> (tensor<2x4x2x6xf32>, tensor<2x2x4xf32>)
  %all = train.add %result, %y : (tensor<2x4x2x6xf32>, tensor<2x4x2x6xf32>) -> tensor<2x4x2x6xf32>
  return %all : tensor<2x4x2x6xf32>
}
