// RUN: zc-opt %s --zc-serve-parameters | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2>, dist.server} {
  // Tests that sums of gradients go to one rank, which sends the parameters and
  // metrics that it makes of them, but not the moments; that what all ranks know
  // is not sent; and that a copy is rounded of what comes.
  train.state @w "parameter" : tensor<4xf32>
  train.state @w.bf16 "copy" : tensor<4xbf16> {parameter = "w"}
  train.state @m "optimizer" : tensor<4xf32> {parameter = "w"}
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: tensor<4xf32> {dist.server, train.state = @m})
  // CHECK: %[[LOSS:.*]] = dist.all_reduce %arg3
  // CHECK: %[[SUM:.*]] = dist.reduce %arg2 {axes = ["dp"], root = 0 : i64, traffic = "gradients"}
  // CHECK: %[[M:.*]] = train.add %arg1, %[[SUM]]
  // CHECK-NEXT: %[[NEW:.*]] = train.sub %arg0, %[[M]]
  // CHECK-NEXT: %[[W:.*]] = dist.broadcast %[[NEW]] {axes = ["dp"], of_server, root = 0 : i64, served = @w, traffic = "parameters"}
  // CHECK: %[[NORM:.*]] = train.reduce
  // CHECK-NEXT: %[[SENT:.*]] = dist.broadcast %[[NORM]] {axes = ["dp"], of_server, root = 0 : i64, traffic = "scalars"}
  // CHECK: %[[COPY:.*]] = train.convert %[[W]]
  // CHECK: return %[[LOSS]], %[[SENT]], %[[W]], %[[COPY]], %[[M]]
  func.func @step(%w: tensor<4xf32> {train.state = @w}, %m: tensor<4xf32> {train.state = @m}, %g: tensor<4xf32> {train.input = "g"}, %l: tensor<f32> {train.input = "l"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<f32> {train.metric = "grad_norm"}, tensor<4xf32> {train.state = @w}, tensor<4xbf16> {train.state = @w.bf16}, tensor<4xf32> {train.state = @m}) {
    %0 = dist.all_reduce %l {axes = ["dp"], traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_reduce %g {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = train.add %m, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = train.sub %w, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = train.convert %3 : (tensor<4xf32>) -> tensor<4xbf16>
    %5 = train.reduce "sum" %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %0, %5, %3, %4, %2 : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
  }
}
