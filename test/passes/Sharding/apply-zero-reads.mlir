// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=layer reshard-last" | FileCheck %s
// RUN: zc-opt %s --zc-apply-zero="stage=1 axes=dp unit=layer" | FileCheck %s --check-prefix=ONE

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  train.state @layers.0.w "parameter" : tensor<4xbf16>
  train.state @layers.1.w "parameter" : tensor<4xbf16>

  // Tests that all that is made of a weight alone stands in front of its first
  // reader, and once more in the backward: no unit is gathered sooner, none
  // stays from pass to pass. Without gathers all stays where it is.
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[U0:arg[0-9]+]]: tensor<4xbf16> {train.state = @unit.0}, %[[U1:arg[0-9]+]]: tensor<4xbf16> {train.state = @unit.1}
  // CHECK: dist.reshard %[[U0]] {dist.pass = "forward"
  // CHECK: %[[W0:.*]] = train.convert
  // CHECK: %[[B0:.*]] = train.broadcast %[[W0]]
  // CHECK: %[[Y0:.*]] = train.mul %{{.*}}, %[[B0]]
  // CHECK: dist.reshard %[[U1]] {dist.pass = "forward"
  // CHECK: train.convert
  // CHECK: %[[B1:.*]] = train.broadcast
  // CHECK: train.mul %[[Y0]], %[[B1]]
  // CHECK: train.reduce "sum"
  // CHECK: dist.reshard %[[U1]] {dist.pass = "backward"
  // CHECK: train.convert
  // CHECK: %[[C1:.*]] = train.broadcast
  // CHECK: train.mul %[[Y0]], %[[C1]]
  // CHECK: dist.reshard %[[U0]] {dist.pass = "backward"
  // CHECK: train.convert
  // CHECK: %[[C0:.*]] = train.broadcast
  // CHECK: train.mul %{{.*}}, %[[C0]]
  // ONE-LABEL: func.func @step
  // ONE: train.convert
  // ONE: train.convert
  // ONE-COUNT-2: train.broadcast
  // ONE-NOT: train.broadcast
  // ONE: return
  func.func @step(%w0: tensor<4xbf16> {train.state = @layers.0.w}, %w1: tensor<4xbf16> {train.state = @layers.1.w},
                  %x: tensor<2x4xf32> {train.input = "x"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<4xbf16> {train.gradient = @layers.0.w},
          tensor<4xbf16> {train.gradient = @layers.1.w}) {
    %0 = train.convert %w1 : (tensor<4xbf16>) -> tensor<4xf32>
    %1 = train.convert %w0 : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = train.broadcast %1 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
    %3 = train.mul %x, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = train.broadcast %0 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
    %5 = train.mul %3, %4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %loss = train.reduce "sum" %5 {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
    %6 = train.mul %3, %4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = train.reduce "sum" %6 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
    %g1 = train.convert %7 : (tensor<4xf32>) -> tensor<4xbf16>
    %8 = train.mul %6, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = train.reduce "sum" %8 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
    %g0 = train.convert %9 : (tensor<4xf32>) -> tensor<4xbf16>
    return %loss, %g0, %g1 : tensor<f32>, tensor<4xbf16>, tensor<4xbf16>
  }
}
