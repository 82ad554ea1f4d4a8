// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=layer reshard-last" | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // Tests that parameters that tp divides, by rows or by columns, lie in a
  // vector of shares, each padded, which tp divides before dp does; what tp does
  // not divide lies in another.
  // CHECK: train.state @unit.0 "parameter" : tensor<24xf32> {dist.moments = #dist.sharding<tp+dp>, dist.sharding = #dist.sharding<tp+dp>}
  // CHECK: train.state @unit.1 "parameter" : tensor<4xf32> {dist.moments = #dist.sharding<dp>, dist.sharding = #dist.sharding<dp>}
  train.state @l.0.rows "parameter" : tensor<4x3xf32> {dist.sharding = #dist.sharding<tp,_>}
  train.state @l.0.columns "parameter" : tensor<5x2xf32> {dist.sharding = #dist.sharding<_,tp>}
  train.state @l.0.whole "parameter" : tensor<3xf32>

  // CHECK-LABEL: func.func @step
  // CHECK: %[[VECTOR:.*]] = dist.reshard %{{.*}} {dist.pass = "forward", dist.sharding = #dist.sharding<tp>
  // CHECK: %[[ROWS:.*]] = train.reshape %[[VECTOR]] : (tensor<24xf32>) -> tensor<2x12xf32>
  // CHECK: %[[SHARES:.*]] = train.slice %[[ROWS]] {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x6xf32>
  // CHECK: train.reshape %[[SHARES]] : (tensor<2x6xf32>) -> tensor<4x3xf32>
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 6>, strides = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x5xf32>
  // CHECK: train.transpose %{{.*}} {permutation = array<i64: 1, 0, 2>} : (tensor<2x5x1xf32>) -> tensor<5x2x1xf32>
  // CHECK: train.concat {{.*}} {dim = 1 : i64, {{.*}}} : (tensor<2x6xf32>, tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x12xf32>
  func.func @step(%r: tensor<4x3xf32> {train.state = @l.0.rows}, %c: tensor<5x2xf32> {train.state = @l.0.columns},
                  %w: tensor<3xf32> {train.state = @l.0.whole}, %x: tensor<3xf32> {train.input = "x"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<4x3xf32> {train.gradient = @l.0.rows},
          tensor<5x2xf32> {train.gradient = @l.0.columns}, tensor<3xf32> {train.gradient = @l.0.whole}) {
    %0 = train.neg %r : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = train.neg %c : (tensor<5x2xf32>) -> tensor<5x2xf32>
    %2 = train.mul %w, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %loss = train.reduce "sum" %2 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
    %gr = train.exp %r : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %gc = train.exp %c : (tensor<5x2xf32>) -> tensor<5x2xf32>
    %gw = train.exp %w : (tensor<3xf32>) -> tensor<3xf32>
    return %loss, %gr, %gc, %gw : tensor<f32>, tensor<4x3xf32>, tensor<5x2xf32>, tensor<3xf32>
  }
  // CHECK: module @units
  // CHECK-NEXT: train.state @l.0.rows {{.*}} {dist.sharding = #dist.sharding<tp,_>, unit = @unit.0, unit_offset = 0 : i64}
  // CHECK-NEXT: train.state @l.0.columns {{.*}} {dist.sharding = #dist.sharding<_,tp>, unit = @unit.0, unit_offset = 6 : i64}
}
