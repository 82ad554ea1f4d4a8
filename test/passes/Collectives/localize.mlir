// RUN: zc-opt %s --zc-localize | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2,tp=4>} {
  // CHECK: train.state @s "accumulator" : tensor<4x2xf32> {dist.sharding = #dist.sharding<_,tp>, dist.whole = tensor<4x8xf32>}
  train.state @s "accumulator" : tensor<4x8xf32> {dist.sharding = #dist.sharding<_,tp>}
  // CHECK-DAG: train.state @coordinate.dp "scalar" : tensor<i64> {coordinate = "dp"}
  // CHECK-DAG: train.state @coordinate.tp "scalar" : tensor<i64> {coordinate = "tp"}

  // Tests that types are a rank's, that a constant is written in its part's size,
  // and that whole types are kept.
  // CHECK-LABEL: func.func @types
  // CHECK-SAME: tensor<4x3xf32> {dist.sharding = #dist.sharding<dp,_>, dist.whole = tensor<8x3xf32>}
  // CHECK-SAME: -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<dp,_>, dist.whole = tensor<8x3xf32>})
  // CHECK: train.constant dense<2.000000e+00> : tensor<4x3xf32>
  // CHECK: train.add %{{.*}} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.func @types(%x: tensor<8x3xf32> {dist.sharding = #dist.sharding<dp,_>})
      -> (tensor<8x3xf32> {dist.sharding = #dist.sharding<dp,_>}) {
    %0 = train.constant {dist.operands = [], dist.results = [#dist.sharding<dp,_>]} dense<2.0> : tensor<8x3xf32>
    %1 = train.add %x, %0 {dist.operands = [#dist.sharding<dp,_>, #dist.sharding<dp,_>], dist.results = [#dist.sharding<dp,_>]} : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    return %1 : tensor<8x3xf32>
  }

  // Tests that parts are stacked and moved side by side.
  // CHECK-LABEL: func.func @gather
  // CHECK: %[[ROW:.*]] = train.reshape %arg0 : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
  // CHECK: %[[ALL:.*]] = dist.all_gather %[[ROW]] {axes = ["tp"], dim = 0 : i64, traffic = "activations"} : (tensor<1x4x2xf32>) -> tensor<4x4x2xf32>
  // CHECK: %[[SIDE:.*]] = train.transpose %[[ALL]] {permutation = array<i64: 1, 0, 2>}
  // CHECK: train.reshape %[[SIDE]] : (tensor<4x4x2xf32>) -> tensor<4x8xf32>
  func.func @gather(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,tp>}) -> tensor<4x8xf32> {
    %0 = dist.all_gather %x {axes = ["tp"], dim = 1 : i64, traffic = "activations", dist.results = [#dist.sharding<_,_>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }

  // Tests that a rank takes its own part by its number, row-major over the axes.
  // CHECK-LABEL: func.func @slice
  // CHECK-SAME: %[[DP:arg1]]: tensor<i64> {train.state = @coordinate.dp}, %[[TP:arg2]]: tensor<i64> {train.state = @coordinate.tp}
  // CHECK: %[[PIECES:.*]] = train.reshape %arg0 : (tensor<16xf32>) -> tensor<8x2xf32>
  // CHECK: %[[FOUR:.*]] = train.constant dense<4>
  // CHECK: %[[ROW:.*]] = train.mul %[[DP]], %[[FOUR]]
  // CHECK: %[[NUMBER:.*]] = train.add %[[ROW]], %[[TP]]
  // CHECK: %[[INDEX:.*]] = train.reshape %[[NUMBER]] : (tensor<i64>) -> tensor<1xi64>
  // CHECK: train.gather %[[PIECES]], %[[INDEX]] {dim = 0 : i64}
  func.func @slice(%x: tensor<16xf32>) -> (tensor<16xf32> {dist.sharding = #dist.sharding<dp+tp>}) {
    %0 = dist.slice %x {axes = ["dp", "tp"], dim = 0 : i64, dist.results = [#dist.sharding<dp+tp>]} : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }

  // CHECK-LABEL: func.func @scatter
  // CHECK: train.reshape %arg0 : (tensor<4x8xf32>) -> tensor<4x4x2xf32>
  // CHECK: train.transpose
  // CHECK: dist.reduce_scatter {{.*}} : (tensor<4x4x2xf32>) -> tensor<1x4x2xf32>
  func.func @scatter(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced tp>})
      -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<_,tp>}) {
    %0 = dist.reduce_scatter %x {axes = ["tp"], dim = 1 : i64, traffic = "gradients", dist.results = [#dist.sharding<_,tp>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }

  // Tests that a term is a row as it is, and what is whole a part of it.
  // CHECK-LABEL: func.func @terms
  // CHECK: train.reshape %arg0 : (tensor<6xf32>) -> tensor<1x6xf32>
  // CHECK: %[[ROW:.*]] = train.reshape %arg1 : (tensor<6xf32>) -> tensor<1x6xf32>
  // CHECK: %[[PART:.*]] = train.constant dense<2.500000e-01> : tensor<1x6xf32>
  // CHECK: train.mul %[[ROW]], %[[PART]]
  func.func @terms(%x: tensor<6xf32> {dist.sharding = #dist.sharding<_ unreduced tp>}, %y: tensor<6xf32>)
      -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<tp,_>}, tensor<4x6xf32> {dist.sharding = #dist.sharding<tp,_>}) {
    %0 = dist.terms %x {axes = ["tp"], dist.operands = [#dist.sharding<_ unreduced tp>], dist.results = [#dist.sharding<tp,_>]} : (tensor<6xf32>) -> tensor<4x6xf32>
    %1 = dist.terms %y {axes = ["tp"], dist.operands = [#dist.sharding<_>], dist.results = [#dist.sharding<tp,_>]} : (tensor<6xf32>) -> tensor<4x6xf32>
    return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
  }
}
