// RUN: zc-opt %s --zc-split-server | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2>, dist.notes = ["of both"], dist.server} {
  // Tests that the server keeps its program, and that its workers send and receive
  // as it does, but compute no update and hold no moments: what comes is written
  // over the old parameter.
  // CHECK: module attributes {{.*}}dist.server
  // CHECK: module @role0 attributes {{.*}}dist.notes = ["of both"]{{.*}}train.role = 0
  // CHECK: train.state @w "parameter"
  // CHECK: train.state @m "optimizer"
  // CHECK: dist.reduce
  // CHECK: train.sub
  // CHECK: dist.broadcast
  // CHECK: module @role1 attributes {{.*}}dist.notes = ["of both"]{{.*}}train.role = 1
  // CHECK: train.state @w "parameter"
  // CHECK-NOT: "optimizer"
  // CHECK: func.func @step(%[[W:.*]]: tensor<4xf32> {train.state = @w}, %[[G:.*]]: tensor<4xf32>
  // CHECK-SAME: -> (tensor<4xf32> {train.state = @w}, tensor<f32> {train.metric = "grad_norm"})
  // CHECK: train.fused(%[[G]])
  // CHECK: dist.reduce
  // CHECK-NOT: train.sub
  // CHECK: %[[NEW:.*]] = train.fused(%[[W]])
  // CHECK: dist.broadcast
  // CHECK: train.constant dense<0.0
  // CHECK: dist.broadcast
  // CHECK: return %[[NEW]]
  train.state @w "parameter" : tensor<4xf32>
  train.state @m "optimizer" : tensor<4xf32> {parameter = "w"}
  func.func @step(%w: tensor<4xf32> {train.state = @w}, %m: tensor<4xf32> {train.state = @m}, %g: tensor<4xf32> {train.input = "g"})
      -> (tensor<4xf32> {train.state = @w}, tensor<4xf32> {train.state = @m}, tensor<f32> {train.metric = "grad_norm"}) {
    %0 = train.fused(%g) {library = "zc.collective"} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %r = dist.reduce %a {axes = ["dp"], root = 0 : i64, traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
      train.yield %r : tensor<4xf32>
    }
    %1:3 = train.fused(%w, %m, %0) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
      %n = train.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %u = train.sub %a, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %s = train.reduce "sum" %c {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      train.yield %u, %n, %s : tensor<4xf32>, tensor<4xf32>, tensor<f32>
    }
    %2 = train.fused(%1#0) {library = "zc.collective"} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %r = dist.broadcast %a {axes = ["dp"], of_server, root = 0 : i64, served = @w, traffic = "parameters"} : (tensor<4xf32>) -> tensor<4xf32>
      train.yield %r : tensor<4xf32>
    }
    %3 = train.fused(%1#2) {library = "zc.collective"} : (tensor<f32>) -> tensor<f32> {
    ^bb0(%a: tensor<f32>):
      %r = dist.broadcast %a {axes = ["dp"], of_server, root = 0 : i64, traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
      train.yield %r : tensor<f32>
    }
    return %2, %1#1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
}
