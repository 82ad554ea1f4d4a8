// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-accumulate-gradients))' | FileCheck %s

// Tests that the gradient of a parameter that several roles hold is their sum,
// divided as the parameter's moments are, else as the parameter, and that of
// others is not: roles meet with equal parts, whatever divides their own terms,
// and in the order of the names, whatever the order of their own.
module {
module @role0 attributes {dist.mesh = #dist.mesh<pp=2,dp=2,tp=2>, train.role = 0 : i64, train.metric_types = {loss = tensor<f32>}} {
train.state @moments "parameter" : tensor<4x8xf32> {dist.moments = #dist.sharding<dp,tp>, dist.sharding = #dist.sharding<_,tp>, holders = array<i64: 0, 1>}
train.state @divided "parameter" : tensor<4x8xf32> {dist.sharding = #dist.sharding<tp,_>, holders = array<i64: 0, 1>}
train.state @whole "parameter" : tensor<4x8xf32> {holders = array<i64: 0, 1>}
train.state @own "parameter" : tensor<4x8xf32>
// CHECK-LABEL: func.func @apply
// CHECK-SAME: %[[DIVIDED:[^ ]+]]: tensor<4x8xf32> {train.state = @accumulated.divided}
// CHECK-SAME: %[[MOMENTS:[^ ]+]]: tensor<4x8xf32> {train.state = @accumulated.moments}
// CHECK-SAME: %[[WHOLE:[^ ]+]]: tensor<4x8xf32> {train.state = @accumulated.whole}
// CHECK: dist.role_sum {{.*}}traffic = "scalars"
// CHECK: dist.role_sum %[[DIVIDED]] {axes = ["pp"], dist.sharding = #dist.sharding<tp,_>, holders = array<i64: 0, 1>, traffic = "gradients"}
// CHECK: dist.role_sum %[[MOMENTS]] {axes = ["pp"], dist.sharding = #dist.sharding<dp,tp>, holders = array<i64: 0, 1>, traffic = "gradients"}
// CHECK: dist.role_sum %[[WHOLE]] {axes = ["pp"], dist.sharding = #dist.sharding<_,_>, holders = array<i64: 0, 1>, traffic = "gradients"}
// CHECK-NOT: dist.role_sum
func.func @step(%l: tensor<f32> {train.input = "l"}, %g: tensor<4x8xf32> {train.input = "g"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4x8xf32> {train.gradient = @moments},
        tensor<4x8xf32> {train.gradient = @divided}, tensor<4x8xf32> {train.gradient = @whole},
        tensor<4x8xf32> {train.gradient = @own}) {
  return %l, %g, %g, %g, %g : tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
}
}
