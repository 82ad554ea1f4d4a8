// RUN: zc-opt %s --split-input-file --zc-place-experts | FileCheck %s

// Tests that ranks which divide tokens take parts of the groups that they are all
// sent, and bring them together before they go back.
// CHECK-LABEL: func.func @step
// CHECK: %[[SENT:.*]] = dist.reshard %{{.*}} {dist.sharding = #dist.sharding<ep,dp,_>, dist.traffic = "activations"}
// CHECK: %[[OWN:.*]] = dist.reshard %[[SENT]] {dist.sharding = #dist.sharding<ep,dp+sp,_>, dist.traffic = "activations"}
// CHECK: %[[ALL:.*]] = dist.reshard %[[OWN]] {dist.sharding = #dist.sharding<ep,dp,_>, dist.traffic = "activations"}
// CHECK: dist.reshard %[[ALL]] {dist.sharding = #dist.sharding<_,dp+ep,_>, dist.traffic = "activations"}
module attributes {dist.mesh = #dist.mesh<dp=2, ep=2, sp=2>} {
  func.func @step(%x: tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
    %0 = train.place_experts %x {to_experts} : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    %1 = train.place_experts %0 : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    return %1 : tensor<4x8x3xf32>
  }
}

// -----

// Tests that of too few groups all multiply all.
// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: dist.reshard
// CHECK-NOT: dist.reshard
module attributes {dist.mesh = #dist.mesh<dp=2, ep=2, sp=4>} {
  func.func @few(%x: tensor<4x4x3xf32>) -> tensor<4x4x3xf32> {
    %0 = train.place_experts %x {to_experts} : (tensor<4x4x3xf32>) -> tensor<4x4x3xf32>
    %1 = train.place_experts %0 : (tensor<4x4x3xf32>) -> tensor<4x4x3xf32>
    return %1 : tensor<4x4x3xf32>
  }
}
