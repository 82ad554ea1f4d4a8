// RUN: zc-opt %s --zc-split-batch-norm --canonicalize --cse --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-split-batch-norm --canonicalize --cse --zc-form-regions --split-input-file | FileCheck %s --check-prefix=REGIONS

// Tests that the moments are sums of parts of whole rows, and that the result
// is one region with the activation behind it.
// CHECK-LABEL: func.func @training
// CHECK-SAME: (%[[X:.*]]: tensor<2x64x64x64xf32>, %[[SCALE:.*]]: tensor<64xf32>, %[[BIAS:.*]]: tensor<64xf32>)
// CHECK: %[[PARTS:.*]] = train.reshape %[[X]] : (tensor<2x64x64x64xf32>) -> tensor<32x256x64xf32>
// CHECK: %[[MEANS:.*]], %[[DEVIATIONS:.*]] = train.channel_moments %[[PARTS]]
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[MEANS]] {dims = array<i64: 0>}
// CHECK: train.mul %[[SUM]], %{{.*}} : (tensor<64xf32>
// CHECK: train.reduce "sum_square" %{{.*}} {dims = array<i64: 0>}
// CHECK: train.reduce "sum" %[[DEVIATIONS]] {dims = array<i64: 0>}
// CHECK: train.sub %[[X]], %{{.*}} : (tensor<2x64x64x64xf32>
// CHECK-NOT: batch_norm
// CHECK: train.relu
// REGIONS-LABEL: func.func @training
// REGIONS: train.fused
// REGIONS: train.sub %{{.*}} : (tensor<2x64x64x64xf32>
// REGIONS-NOT: train.fused
// REGIONS: train.relu
func.func @training(%x: tensor<2x64x64x64xf32>, %scale: tensor<64xf32>, %bias: tensor<64xf32>)
    -> (tensor<2x64x64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %y, %mean, %variance = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<2x64x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<2x64x64x64xf32>, tensor<64xf32>, tensor<64xf32>)
  %relu = train.relu %y : (tensor<2x64x64x64xf32>) -> tensor<2x64x64x64xf32>
  return %relu, %mean, %variance : tensor<2x64x64x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Tests that the gradient reads input and gradient twice and no more.
// CHECK-LABEL: func.func @gradient
// CHECK: train.channel_products %{{.*}} : (tensor<98x8x2048xf32>, tensor<2048xf32>, tensor<98x8x2048xf32>)
// CHECK-NOT: batch_norm_grad
func.func @gradient(%x: tensor<16x7x7x2048xf32>, %scale: tensor<2048xf32>, %mean: tensor<2048xf32>,
    %variance: tensor<2048xf32>, %grad: tensor<16x7x7x2048xf32>)
    -> (tensor<16x7x7x2048xf32>, tensor<2048xf32>, tensor<2048xf32>) {
  %0:3 = train.batch_norm_grad %x, %scale, %mean, %variance, %grad {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<16x7x7x2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<16x7x7x2048xf32>)
      -> (tensor<16x7x7x2048xf32>, tensor<2048xf32>, tensor<2048xf32>)
  return %0#0, %0#1, %0#2 : tensor<16x7x7x2048xf32>, tensor<2048xf32>, tensor<2048xf32>
}

// -----

// Tests that an image with channels first, and one of a single part, stay as
// they are.
// CHECK-LABEL: func.func @others
// CHECK: train.batch_norm_training
// CHECK: train.batch_norm_training
func.func @others(%x: tensor<8x16x64x64xf32>, %y: tensor<4x4x4x16xf32>, %scale: tensor<16xf32>)
    -> (tensor<8x16x64x64xf32>, tensor<4x4x4x16xf32>) {
  %0:3 = train.batch_norm_training %x, %scale, %scale {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<8x16x64x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x64x64xf32>, tensor<16xf32>, tensor<16xf32>)
  %1:3 = train.batch_norm_training %y, %scale, %scale {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x4x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x4x4x16xf32>, tensor<16xf32>, tensor<16xf32>)
  return %0#0, %1#0 : tensor<8x16x64x64xf32>, tensor<4x4x4x16xf32>
}
