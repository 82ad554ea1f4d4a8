// RUN: zc-opt %s --zc-verify-sharding | FileCheck %s

// CHECK-LABEL: func.func @sound
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @sound(%x: tensor<8xf32> {dist.sharding = #dist.sharding<dp>}) -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
    %0 = train.reduce "sum" %x {dims = array<i64: 0>, dist.operands = [#dist.sharding<dp>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<8xf32>) -> tensor<f32>
    %1 = train.neg %0 {dist.operands = [#dist.sharding<unreduced dp>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>) -> tensor<f32>
    %2 = dist.all_reduce %1 {axes = ["dp"], traffic = "scalars", dist.results = [#dist.sharding<>]} : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
