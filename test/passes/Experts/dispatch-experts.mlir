// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{axis=ep ranks=2})' | FileCheck %s
// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{capacity=1.5})' | FileCheck %s --check-prefix=ROOM

// Tests that a layer with a bias after each product and an activation between is
// computed in rooms: two exchanges of rows, and none between; without a capacity
// there is room for all 3 tokens of each of 2 samples, 2 of 4 experts' worth of
// which is filled. Which places are empty goes with the rows.
// CHECK: train.state @w1 "parameter" : tensor<4x5x8xf32> {dist.sharding = #dist.sharding<ep,_,_>, why = "dim 0 counts experts"}
// CHECK: train.state @b1 "parameter" : tensor<4x8xf32> {dist.sharding = #dist.sharding<ep,_>
// CHECK: train.state @w2 "parameter" : tensor<4x8x5xf32> {dist.sharding = #dist.sharding<ep,_,_>
// CHECK-LABEL: func.func @forward
// CHECK: %[[SLOTS:.*]], %[[PLACES:.*]], %{{.*}} = train.expert_slots {{.*}} {capacity = 3 : i64, choices = 2 : i64, experts = 4 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x12xi32>, tensor<2x4xi32>)
// CHECK: train.exchange_rows %{{.*}}, %[[PLACES]], %[[SLOTS]] {mark_empty} : (tensor<2x6x5xf32>, tensor<2x12xi32>, tensor<2x6xi32>) -> tensor<2x12x5xf32>
// CHECK: train.place_experts %{{.*}} {to_experts} : (tensor<4x2x3x5xf32>)
// CHECK-NOT: train.place_experts
// CHECK: train.slice {{.*}} -> tensor<4x6x1xf32>
// CHECK: train.compare "eq" {{.*}} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
// CHECK: train.grouped_matmul {{.*}} {experts = 4 : i64, filled = 5.000000e-01 : f64} : (tensor<4x6x5xf32>, tensor<4x5x8xf32>, tensor<4x6xi32>, tensor<4xi64>) -> tensor<4x6x8xf32>
// CHECK: train.broadcast {{.*}} {dims = array<i64: 0, 2>} : (tensor<4x8xf32>) -> tensor<4x6x8xf32>
// CHECK: train.add
// CHECK: train.relu {{.*}} : (tensor<4x6x8xf32>)
// CHECK-NOT: train.place_experts
// CHECK: train.grouped_matmul {{.*}} : (tensor<4x6x8xf32>, tensor<4x8x5xf32>, tensor<4x6xi32>, tensor<4xi64>) -> tensor<4x6x5xf32>
// CHECK: train.broadcast {{.*}} {dims = array<i64: 0, 2>} : (tensor<4x5xf32>) -> tensor<4x6x5xf32>
// CHECK: train.place_experts %{{[^ ]*}} : (tensor<4x2x3x5xf32>)
// CHECK: train.exchange_rows %{{.*}}, %[[SLOTS]], %[[PLACES]] : (tensor<2x12x5xf32>, tensor<2x6xi32>, tensor<2x12xi32>) -> tensor<2x6x5xf32>
// CHECK-NOT: train.gather

// Tests room for 1.5 times an even share, 6 / 4 rounded up: plain products, and
// nothing is placed where no axis divides experts.
// ROOM-NOT: dist.sharding
// ROOM: train.expert_slots {{.*}} {capacity = 3 : i64
// ROOM-NOT: train.place_experts
// ROOM: train.matmul {{.*}} : (tensor<4x6x5xf32>, tensor<4x5x8xf32>) -> tensor<4x6x8xf32>
// ROOM: train.matmul {{.*}} : (tensor<4x6x8xf32>, tensor<4x8x5xf32>) -> tensor<4x6x5xf32>
train.state @w1 "parameter" : tensor<4x5x8xf32>
train.state @b1 "parameter" : tensor<4x8xf32>
train.state @w2 "parameter" : tensor<4x8x5xf32>
train.state @b2 "parameter" : tensor<4x5xf32>
func.func @forward(%w1: tensor<4x5x8xf32> {train.state = @w1}, %b1: tensor<4x8xf32> {train.state = @b1}, %w2: tensor<4x8x5xf32> {train.state = @w2}, %b2: tensor<4x5xf32> {train.state = @b2}, %x: tensor<2x3x5xf32> {train.batch_dim = 0 : i64, train.input = "x"}, %first: tensor<6x1xi64>, %second: tensor<6x1xi64>) -> tensor<12x5xf32> {
  %ids = train.iota {stride = 1 : i64} : () -> tensor<4xi64>
  %0 = train.concat %first, %second {dim = 1 : i64} : (tensor<6x1xi64>, tensor<6x1xi64>) -> tensor<6x2xi64>
  %groups = train.reshape %0 : (tensor<6x2xi64>) -> tensor<12xi64>
  %1 = train.broadcast %x {dims = array<i64: 0, 1, 3>} : (tensor<2x3x5xf32>) -> tensor<2x3x2x5xf32>
  %rows = train.reshape %1 : (tensor<2x3x2x5xf32>) -> tensor<12x5xf32>
  %2 = train.grouped_matmul %rows, %w1, %groups, %ids {experts = 4 : i64} : (tensor<12x5xf32>, tensor<4x5x8xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<12x8xf32>
  %3 = train.gather %b1, %groups {dim = 0 : i64} : (tensor<4x8xf32>, tensor<12xi64>) -> tensor<12x8xf32>
  %4 = train.add %2, %3 : (tensor<12x8xf32>, tensor<12x8xf32>) -> tensor<12x8xf32>
  %5 = train.relu %4 : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %6 = train.grouped_matmul %5, %w2, %groups, %ids {experts = 4 : i64} : (tensor<12x8xf32>, tensor<4x8x5xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<12x5xf32>
  %7 = train.gather %b2, %groups {dim = 0 : i64} : (tensor<4x5xf32>, tensor<12xi64>) -> tensor<12x5xf32>
  %8 = train.add %6, %7 : (tensor<12x5xf32>, tensor<12x5xf32>) -> tensor<12x5xf32>
  return %8 : tensor<12x5xf32>
}
