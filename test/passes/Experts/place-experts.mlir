// RUN: zc-opt %s --zc-place-experts | FileCheck %s

// Tests that rows go from who has their group to who has their expert, and back.
// CHECK-LABEL: func.func @step
// CHECK: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<ep,dp,_>, dist.traffic = "activations"}
// CHECK: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<_,dp+ep,_>, dist.traffic = "activations"}
// CHECK-NOT: train.place_experts
module attributes {dist.mesh = #dist.mesh<dp=2, ep=2>} {
  func.func @step(%x: tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
    %0 = train.place_experts %x {to_experts} : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    %1 = train.place_experts %0 : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    return %1 : tensor<4x8x3xf32>
  }
}
