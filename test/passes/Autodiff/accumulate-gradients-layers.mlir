// RUN: zc-opt %s --pass-pipeline='builtin.module(builtin.module(zc-accumulate-gradients))' | FileCheck %s

// Tests that roles add up loss, count and layers' metrics in one message, in
// which each role's rows have their place by its coordinate, without its turn
// where it is a replica; and that all read the table of all layers from it.
module {
// The first role has two of layers 0, 1 and 2: room for two a role.
// CHECK: module @role0
// CHECK: func.func @apply
// CHECK-SAME: %[[R0:[^ ]+]]: tensor<1x3xf32> {train.state = @accumulated.moe_tokens.0}
// CHECK-SAME: %[[R2:[^ ]+]]: tensor<1x3xf32> {train.state = @accumulated.moe_tokens.2}
// CHECK-SAME: %[[O:[^ ]+]]: tensor<1xf32> {train.state = @accumulated.moe_overflow.1}
// CHECK-SAME: %[[PP:[^ ]+]]: tensor<i64> {train.state = @coordinate.pp}
// CHECK-SAME: tensor<3x3xf32> {train.metric = "moe_tokens"}
// CHECK-SAME: tensor<1xf32> {train.metric = "moe_overflow"}
// CHECK: %[[A:.*]] = train.reshape %[[R0]]
// CHECK: %[[B:.*]] = train.reshape %[[R2]]
// CHECK: %[[OWN:.*]] = train.concat %[[A]], %[[B]] {{.*}} -> tensor<6xf32>
// CHECK: %[[EACH:.*]] = train.broadcast %[[OWN]] {{.*}} -> tensor<2x6xf32>
// CHECK-NOT: train.sub
// CHECK: %[[IOTA:.*]] = train.iota {stride = 1 : i64} : () -> tensor<2xi64>
// CHECK: %[[HERE:.*]] = train.broadcast %[[PP]]
// CHECK: train.compare "eq" %[[IOTA]], %[[HERE]]
// CHECK: %[[TERM:.*]] = train.mul %[[EACH]]
// CHECK: %[[FLAT:.*]] = train.reshape %[[TERM]] {{.*}} -> tensor<12xf32>
// CHECK: %[[MORE:.*]] = train.add %{{.*}}, %[[O]]
// CHECK: %[[ALL:.*]] = train.concat %[[FLAT]], %[[MORE]] {{.*}} -> tensor<13xf32>
// CHECK: train.concat %{{.*}}, %{{.*}}, %[[ALL]] {{.*}} -> tensor<15xf32>
// CHECK: %[[SUM:.*]] = dist.role_sum {{.*}}traffic = "scalars"
// CHECK: %[[LAYERS:.*]] = train.slice %[[SUM]] {offsets = array<i64: 2>
// CHECK: %[[L0:.*]] = train.slice %[[LAYERS]] {offsets = array<i64: 0>{{.*}} -> tensor<3xf32>
// CHECK: %[[L1:.*]] = train.slice %[[LAYERS]] {offsets = array<i64: 6>{{.*}} -> tensor<3xf32>
// CHECK: %[[L2:.*]] = train.slice %[[LAYERS]] {offsets = array<i64: 3>{{.*}} -> tensor<3xf32>
// CHECK: train.concat %[[L0]], %[[L1]], %[[L2]]
// CHECK: train.slice %[[LAYERS]] {offsets = array<i64: 12>{{.*}} -> tensor<1xf32>
// CHECK-NOT: dist.role_sum
module @role0 attributes {dist.mesh = #dist.mesh<pp=2,dp=2>, train.role = 0 : i64, train.layer_roles = array<i64: 0, 1, 0>,
    train.metric_types = {loss = tensor<f32>, loss_count = tensor<f32>, moe_tokens = tensor<3x3xf32>, moe_overflow = tensor<1xf32>}} {
func.func @step(%r: tensor<1x3xf32> {train.input = "r"}, %o: tensor<1xf32> {train.input = "o"})
    -> (tensor<1x3xf32> {train.metric = "moe_tokens.0"}, tensor<1x3xf32> {train.metric = "moe_tokens.2"},
        tensor<1xf32> {train.metric = "moe_overflow.1"}) {
  return %r, %r, %o : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1xf32>
}
}

// A replica's place is the first one's; it has no layer, and adds zeros.
// CHECK: module @role1
// CHECK: func.func @apply
// CHECK: %[[TURN:.*]] = train.constant dense<1> : tensor<i64>
// CHECK: %[[FIRST:.*]] = train.sub %{{.*}}, %[[TURN]]
// CHECK: train.broadcast %[[FIRST]]
// CHECK: dist.role_sum {{.*}}tensor<15xf32>
module @role1 attributes {dist.mesh = #dist.mesh<pp=2,dp=2>, train.role = 1 : i64, train.layer_roles = array<i64: 0, 1, 0>,
    train.turn = 1 : i64, train.turns = 2 : i64,
    train.metric_types = {loss = tensor<f32>, loss_count = tensor<f32>, moe_tokens = tensor<3x3xf32>, moe_overflow = tensor<1xf32>}} {
func.func @step(%l: tensor<f32> {train.input = "l"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "loss_count"}) {
  return %l, %l : tensor<f32>, tensor<f32>
}
}
}
