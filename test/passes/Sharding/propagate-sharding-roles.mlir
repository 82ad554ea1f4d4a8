// RUN: zc-opt %s --split-input-file --zc-propagate-sharding --zc-insert-collectives --zc-localize | FileCheck %s

// Tests that a sum over roles for which they agreed on a division is of such
// parts, of operands that are whole and of terms; another as its operand is.
module attributes {dist.mesh = #dist.mesh<pp=2,dp=2,tp=2>} {
train.state @whole "accumulator" : tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_>}
train.state @terms "accumulator" : tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp>}
// CHECK-LABEL: func.func @apply
// CHECK: dist.all_reduce {{.*}}axes = ["pp"]{{.*}} -> tensor<2x8xf32>
// CHECK: dist.reduce_scatter {{.*}}axes = ["dp"]{{.*}} -> tensor<2x8xf32>
// CHECK: dist.all_reduce {{.*}}axes = ["pp"]{{.*}} -> tensor<2x8xf32>
// CHECK: dist.all_reduce {{.*}}axes = ["pp"]{{.*}} -> tensor<4x8xf32>
func.func @apply(%whole: tensor<4x8xf32> {train.state = @whole}, %terms: tensor<4x8xf32> {train.state = @terms})
    -> (tensor<4x8xf32> {train.metric = "a"}, tensor<4x8xf32> {train.metric = "b"}, tensor<4x8xf32> {train.metric = "c"}) {
  %0 = dist.role_sum %whole {axes = ["pp"], dist.sharding = #dist.sharding<tp,_>, holders = array<i64: 0, 1>, traffic = "gradients"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dist.role_sum %terms {axes = ["pp"], dist.sharding = #dist.sharding<dp,_>, holders = array<i64: 0, 1>, traffic = "gradients"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dist.role_sum %whole {axes = ["pp"], traffic = "gradients"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
}

// -----

// Tests that a gradient is reduced once, for the update and for its norm, of
// which roles exchange the square.
module attributes {dist.mesh = #dist.mesh<pp=2,dp=2>} {
train.state @w "parameter" : tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_>}
train.state @sum "accumulator" : tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp>}
// CHECK-LABEL: func.func @apply
// CHECK-NEXT: %[[G:.*]] = dist.all_reduce %arg1 {axes = ["dp"], {{.*}}traffic = "gradients"
// CHECK-NEXT: train.sub %arg0, %[[G]]
// CHECK-NEXT: %[[ROWS:.*]] = train.reduce "sum_square" %[[G]]
// CHECK-NEXT: %[[SQUARE:.*]] = train.reduce "sum" %[[ROWS]]
// CHECK-NEXT: dist.all_reduce %[[SQUARE]] {axes = ["pp"]
func.func @apply(%w: tensor<4x8xf32> {train.state = @w}, %sum: tensor<4x8xf32> {train.state = @sum})
    -> (tensor<4x8xf32> {train.state = @w}, tensor<f32> {train.metric = "norm"}) {
  %0 = train.sub %w, %sum : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = train.reduce "sum_square" %sum {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %3 = dist.role_sum %2 {axes = ["pp"], traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
  return %0, %3 : tensor<4x8xf32>, tensor<f32>
}
}
