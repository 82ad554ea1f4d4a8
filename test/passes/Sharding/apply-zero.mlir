// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=layer" | FileCheck %s
// RUN: zc-opt %s --zc-apply-zero="stage=1 axes=dp unit=layer late" | FileCheck %s --check-prefix=ONE
// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=layer reshard-last" | FileCheck %s --check-prefix=LAST
// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=64" | FileCheck %s --check-prefix=BYTES
// RUN: zc-opt %s --zc-apply-zero="stage=1 axes=dp unit=64 most-bytes=28" | FileCheck %s --check-prefix=MOST

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  // Tests that a unit is a layer, padded to divide evenly, that its moments are
  // to be divided in every stage, it itself in stage 3, and that its members'
  // states are for files alone.
  // CHECK-NOT: train.state @layers
  // CHECK: train.state @unit.0 "parameter" : tensor<8xf32> {dist.moments = #dist.sharding<dp>, dist.sharding = #dist.sharding<dp>}
  // CHECK: train.state @unit.1 "parameter" : tensor<4xf32>
  // ONE: train.state @unit.0 "parameter" : tensor<8xf32> {dist.moments = #dist.sharding<dp>}
  // BYTES: train.state @unit.0 "parameter" : tensor<12xf32>
  // BYTES-NOT: @unit.1
  // MOST: train.state @unit.0 "parameter" : tensor<8xf32>
  // MOST: train.state @unit.1 "parameter" : tensor<4xf32>
  train.state @layers.0.w "parameter" : tensor<2x3xf32>
  train.state @layers.0.b "parameter" : tensor<1xf32>
  train.state @layers.1.w "parameter" : tensor<3xf32>

  // Tests that stage 3 gathers a unit in front of its first use in the forward
  // and again in the backward, but the last one once; and that gradients are one
  // vector, as soon as all are there.
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[U0:arg[0-9]+]]: tensor<8xf32> {train.state = @unit.0}
  // CHECK-SAME: {dist.sharding = #dist.sharding<dp>, train.gradient = @unit.0}
  // CHECK: %[[W0:.*]] = dist.reshard %[[U0]] {dist.pass = "forward", dist.sharding = #dist.sharding<_>, dist.traffic = "parameters"}
  // CHECK: %[[FLAT:.*]] = train.slice %[[W0]] {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<8xf32>) -> tensor<6xf32>
  // CHECK: train.reshape %[[FLAT]] : (tensor<6xf32>) -> tensor<2x3xf32>
  // CHECK: dist.reshard {{.*}}dist.pass = "forward"
  // CHECK: train.reduce "sum"
  // CHECK: train.concat {{.*}}train.staging
  // CHECK: dist.reshard %[[U0]] {dist.pass = "backward"
  // CHECK-NOT: dist.reshard
  // CHECK: train.constant dense<0.000000e+00> : tensor<1xf32>
  // CHECK: train.concat {{.*}} : (tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8xf32>
  // ONE-LABEL: func.func @step
  // ONE-NOT: dist.reshard
  // ONE: train.kept_gradients
  // ONE: train.concat {{.*}}train.late
  // LAST-COUNT-4: dist.reshard
  func.func @step(%w: tensor<2x3xf32> {train.state = @layers.0.w}, %b: tensor<1xf32> {train.state = @layers.0.b},
                  %v: tensor<3xf32> {train.state = @layers.1.w}, %x: tensor<3xf32> {train.input = "x"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<2x3xf32> {train.gradient = @layers.0.w},
          tensor<1xf32> {train.gradient = @layers.0.b}, tensor<3xf32> {train.gradient = @layers.1.w}) {
    %0 = train.neg %w : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = train.mul %v, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %loss = train.reduce "sum" %1 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
    %gv = train.exp %v : (tensor<3xf32>) -> tensor<3xf32>
    %gw = train.exp %w : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %gb = train.exp %b : (tensor<1xf32>) -> tensor<1xf32>
    return %loss, %gw, %gb, %gv : tensor<f32>, tensor<2x3xf32>, tensor<1xf32>, tensor<3xf32>
  }

  // CHECK: module @units
  // CHECK-NEXT: train.state @layers.0.w "parameter" : tensor<2x3xf32> {unit = @unit.0, unit_offset = 0 : i64}
  // CHECK-NEXT: train.state @layers.0.b "parameter" : tensor<1xf32> {unit = @unit.0, unit_offset = 6 : i64}
}
