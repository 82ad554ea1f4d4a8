// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp by-dims" | FileCheck %s
// RUN: zc-opt %s --zc-apply-zero="stage=1 axes=dp by-dims" | FileCheck %s --check-prefix=ONE

// Tests that a parameter keeps its shape, that its first dim that divides evenly
// behind what tp divides is divided, and that a note names what has none.
// CHECK: module attributes {{.*}}dist.notes = ["--zero leaves odd whole: no dim divides among 2 ranks"]
module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // CHECK: train.state @w "parameter" : tensor<3x4xf32> {dist.moments = #dist.sharding<_,dp>, dist.sharding = #dist.sharding<_,dp>, why = "flag --zero"}
  // CHECK-NEXT: train.state @odd "parameter" : tensor<3xf32>
  // CHECK: train.state @v "parameter" : tensor<4xf32> {dist.moments = #dist.sharding<tp+dp>, dist.sharding = #dist.sharding<tp+dp>, why = "rule; flag --zero"}
  // ONE: train.state @w "parameter" : tensor<3x4xf32> {dist.moments = #dist.sharding<_,dp>}
  // ONE: train.state @v "parameter" : tensor<4xf32> {dist.moments = #dist.sharding<tp+dp>, dist.sharding = #dist.sharding<tp>, why = "rule"}
  train.state @w "parameter" : tensor<3x4xf32>
  train.state @odd "parameter" : tensor<3xf32>
  train.state @v "parameter" : tensor<4xf32> {dist.sharding = #dist.sharding<tp>, why = "rule"}

  // Tests that stage 3 gathers it over what ZeRO divides, for each pass but the
  // last of the forward, and divides its gradient.
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: {dist.sharding = #dist.sharding<_,dp>, train.gradient = @w}
  // CHECK-SAME: tensor<3xf32> {train.gradient = @odd}
  // CHECK: %[[W:.*]] = dist.reshard %arg0 {dist.pass = "forward", dist.sharding = #dist.sharding<_,_>, dist.traffic = "parameters"}
  // CHECK: train.neg %[[W]]
  // CHECK: %[[V:.*]] = dist.reshard %arg2 {dist.pass = "forward", dist.sharding = #dist.sharding<tp>, dist.traffic = "parameters"}
  // CHECK: train.mul %[[V]], %arg3
  // CHECK: %[[AGAIN:.*]] = dist.reshard %arg0 {dist.pass = "backward"
  // CHECK: train.exp %[[AGAIN]]
  // CHECK: train.exp %[[V]]
  // CHECK: train.exp %arg1
  // ONE-LABEL: func.func @step
  // ONE-SAME: tensor<3x4xf32> {train.gradient = @w}
  // ONE-NOT: dist.reshard
  func.func @step(%w: tensor<3x4xf32> {train.state = @w}, %odd: tensor<3xf32> {train.state = @odd},
                  %v: tensor<4xf32> {train.state = @v}, %x: tensor<4xf32> {train.input = "x"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<3x4xf32> {train.gradient = @w},
          tensor<3xf32> {train.gradient = @odd}, tensor<4xf32> {train.gradient = @v}) {
    %0 = train.neg %w : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = train.mul %v, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %loss = train.reduce "sum" %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %gw = train.exp %w : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %gv = train.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    %godd = train.exp %odd : (tensor<3xf32>) -> tensor<3xf32>
    return %loss, %gw, %godd, %gv : tensor<f32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>
  }
}
