// RUN: zc-opt %s --zc-insert-collectives --zc-verify-sharding | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // Tests that a value is moved once for all users that want it so, in front of
  // the first of them.
  // CHECK-LABEL: func.func @once
  // CHECK: train.sqrt
  // CHECK: %[[SUM:.*]] = dist.all_reduce %arg0 {axes = ["dp"], {{.*}}traffic = "scalars"}
  // CHECK: train.add %[[SUM]], %[[SUM]]
  // CHECK-NEXT: train.exp %[[SUM]]
  func.func @once(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}, %y: tensor<f32>) {
    %0 = train.sqrt %y {dist.operands = [#dist.sharding<>], dist.results = [#dist.sharding<>]} : (tensor<f32>) -> tensor<f32>
    %1 = train.add %x, %x {dist.operands = [#dist.sharding<>, #dist.sharding<>], dist.results = [#dist.sharding<>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = train.exp %x {dist.operands = [#dist.sharding<>], dist.results = [#dist.sharding<>]} : (tensor<f32>) -> tensor<f32>
    return
  }

  // Tests that a sum that is wanted in parts is scattered, and that several axes
  // go together.
  // CHECK-LABEL: func.func @reduce
  // CHECK: dist.reduce_scatter %arg0 {axes = ["dp"], dim = 1 : i64
  // CHECK: dist.all_reduce %arg1 {axes = ["dp", "tp"]
  func.func @reduce(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp>},
                    %y: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp+tp>}) {
    %0 = train.exp %x {dist.operands = [#dist.sharding<_,dp>], dist.results = [#dist.sharding<_,dp>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = train.exp %y {dist.operands = [#dist.sharding<_,_>], dist.results = [#dist.sharding<_,_>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }

  // Tests whole from divided, divided from whole, and from one dim to another.
  // CHECK-LABEL: func.func @move
  // CHECK: dist.all_gather %arg0 {axes = ["tp"], dim = 0 : i64
  // CHECK: dist.slice %arg1 {axes = ["dp"], dim = 1 : i64
  // CHECK: dist.all_to_all %arg2 {axes = ["tp"], {{.*}}from = 0 : i64, to = 1 : i64
  func.func @move(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<dp+tp,_>}, %y: tensor<8x8xf32>,
                  %z: tensor<8x8xf32> {dist.sharding = #dist.sharding<tp,_>}) {
    %0 = train.exp %x {dist.operands = [#dist.sharding<dp,_>], dist.results = [#dist.sharding<dp,_>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = train.exp %y {dist.operands = [#dist.sharding<_,dp>], dist.results = [#dist.sharding<_,dp>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = train.exp %z {dist.operands = [#dist.sharding<_,tp>], dist.results = [#dist.sharding<_,tp>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return
  }
}
