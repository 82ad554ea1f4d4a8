// RUN: zc-opt %s | zc-opt | FileCheck %s

// CHECK: dist.mesh = #dist.mesh<dp=4,tp=2>
module attributes {dist.mesh = #dist.mesh<dp=4,tp=2>} {
  // CHECK-LABEL: func.func @shardings
  // CHECK-SAME: #dist.sharding<dp,_>
  // CHECK-SAME: #dist.sharding<_,dp+tp unreduced tp>
  // CHECK-SAME: #dist.sharding<>
  // CHECK-SAME: #dist.sharding<unreduced dp+tp>
  func.func @shardings(
      %a: tensor<8x4xf32> {dist.sharding = #dist.sharding<dp,_>},
      %b: tensor<8x8xf32> {dist.sharding = #dist.sharding<_,dp+tp unreduced tp>},
      %c: tensor<f32> {dist.sharding = #dist.sharding<>},
      %d: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp+tp>}) {
    return
  }

  // CHECK-LABEL: func.func @collectives
  // CHECK: dist.all_reduce %{{.*}} {axes = ["dp", "tp"], traffic = "scalars"}
  // CHECK: dist.all_gather
  // CHECK: dist.reduce_scatter
  // CHECK: dist.all_to_all
  // CHECK: dist.slice
  // CHECK: dist.terms %{{.*}} {axes = ["dp"]} : (tensor<4x4xf32>) -> tensor<4x4x4xf32>
  func.func @collectives(%s: tensor<f32>, %x: tensor<4x8xf32>) {
    %0 = dist.all_reduce %s {axes = ["dp", "tp"], traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_gather %x {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (tensor<4x8xf32>) -> tensor<16x8xf32>
    %2 = dist.reduce_scatter %1 {axes = ["dp"], dim = 0 : i64, traffic = "gradients"} : (tensor<16x8xf32>) -> tensor<4x8xf32>
    %3 = dist.all_to_all %2 {axes = ["tp"], from = 0 : i64, to = 0 : i64, traffic = "activations"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = dist.slice %3 {axes = ["tp"], dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %5 = dist.terms %4 {axes = ["dp"]} : (tensor<4x4xf32>) -> tensor<4x4x4xf32>
    return
  }

  // CHECK-LABEL: func.func @parts
  // CHECK: dist.broadcast %{{.*}} {axes = ["dp"], root = 3 : i64, traffic = "parameters"}
  // CHECK: dist.reduce %{{.*}} {axes = ["dp", "tp"], root = 7 : i64, traffic = "gradients"}
  // CHECK: dist.gather %{{.*}} : (tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK: dist.scatter %{{.*}} : (tensor<16x8xf32>) -> tensor<4x8xf32>
  // CHECK: dist.send_receive %{{.*}} {axes = ["tp"], shift = -1 : i64, traffic = "activations"}
  func.func @parts(%x: tensor<4x8xf32>) {
    %0 = dist.broadcast %x {axes = ["dp"], root = 3 : i64, traffic = "parameters"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dist.reduce %x {axes = ["dp", "tp"], root = 7 : i64, traffic = "gradients"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = dist.gather %x {axes = ["dp"], root = 0 : i64, traffic = "activations"} : (tensor<4x8xf32>) -> tensor<16x8xf32>
    %3 = dist.scatter %2 {axes = ["dp"], root = 0 : i64, traffic = "activations"} : (tensor<16x8xf32>) -> tensor<4x8xf32>
    %4 = dist.send_receive %x {axes = ["tp"], shift = -1 : i64, traffic = "activations"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
}
