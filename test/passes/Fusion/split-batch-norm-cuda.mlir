// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-split-batch-norm --canonicalize --cse | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-split-batch-norm --canonicalize --cse --zc-form-regions | FileCheck %s --check-prefix=REGIONS
// RUN: zc-opt %s --zc-split-batch-norm --canonicalize --cse | FileCheck %s --check-prefix=CPU

// Tests that on GPUs images in 16 bits are split too, into parts of many rows
// whose sums are of float32, and that what is kept and written has 16 bits.
// CHECK-LABEL: func.func @training
// CHECK-SAME: (%[[X:.*]]: tensor<4x28x28x64xbf16>
// CHECK: %[[PARTS:.*]] = train.reshape %[[X]] : (tensor<4x28x28x64xbf16>) -> tensor<4x784x64xbf16>
// CHECK: train.channel_moments %[[PARTS]] : (tensor<4x784x64xbf16>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
// CHECK: train.convert %[[X]] : (tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xf32>
// CHECK: %[[Y:.*]] = train.convert %{{.*}} {rounds_result} : (tensor<4x28x28x64xf32>) -> tensor<4x28x28x64xbf16>
// CHECK: train.relu %[[Y]]
// REGIONS-LABEL: func.func @training
// REGIONS-NOT: -> (tensor<4x28x28x64xf32>
// REGIONS-NOT: -> tensor<4x28x28x64xf32> {
// REGIONS: train.channel_moments
// REGIONS: return
// CPU-LABEL: func.func @training
// CPU: train.batch_norm_training
func.func @training(%x: tensor<4x28x28x64xbf16>, %scale: tensor<64xbf16>, %bias: tensor<64xbf16>)
    -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) {
  %y, %mean, %variance = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %relu = train.relu %y : (tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  return %relu, %mean, %variance : tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @gradient
// CHECK: train.channel_products %{{.*}} : (tensor<4x784x64xbf16>, tensor<64xf32>, tensor<4x784x64xbf16>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
// CHECK-NOT: batch_norm_grad
// CHECK: return %{{.*}} : tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>
// REGIONS-LABEL: func.func @gradient
// REGIONS-NOT: -> tensor<4x28x28x64xf32> {
// REGIONS: return
// CPU-LABEL: func.func @gradient
// CPU: train.batch_norm_grad
func.func @gradient(%x: tensor<4x28x28x64xbf16>, %scale: tensor<64xbf16>, %mean: tensor<64xf32>,
    %variance: tensor<64xf32>, %grad: tensor<4x28x28x64xbf16>)
    -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) {
  %0:3 = train.batch_norm_grad %x, %scale, %mean, %variance, %grad {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<4x28x28x64xbf16>)
      -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>
}
