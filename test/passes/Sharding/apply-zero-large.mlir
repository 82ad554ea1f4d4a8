// RUN: zc-opt %s --zc-apply-zero="stage=3 axes=dp unit=auto" | FileCheck %s

// Tests that large parameters outside of layers, an embedding and a head, have
// units of their own: neither stays gathered for the other's sake. Small ones
// go with one of them.
// CHECK: train.state @unit.0 "parameter" : tensor<4194304xf32>
// CHECK: train.state @unit.1 "parameter" : tensor<4194308xf32>
// CHECK-NOT: @unit.2
module attributes {dist.mesh = #dist.mesh<dp=4>} {
  train.state @embed "parameter" : tensor<4194304xf32>
  train.state @head "parameter" : tensor<4194304xf32>
  train.state @norm "parameter" : tensor<4xf32>
  func.func @step(%e: tensor<4194304xf32> {train.state = @embed}, %h: tensor<4194304xf32> {train.state = @head},
                  %n: tensor<4xf32> {train.state = @norm})
      -> (tensor<f32> {train.metric = "loss"}, tensor<4194304xf32> {train.gradient = @embed},
          tensor<4194304xf32> {train.gradient = @head}, tensor<4xf32> {train.gradient = @norm}) {
    %0 = train.mul %e, %h : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %loss = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<4194304xf32>) -> tensor<f32>
    %ge = train.exp %e : (tensor<4194304xf32>) -> tensor<4194304xf32>
    %gh = train.exp %h : (tensor<4194304xf32>) -> tensor<4194304xf32>
    %gn = train.exp %n : (tensor<4xf32>) -> tensor<4xf32>
    return %loss, %ge, %gh, %gn : tensor<f32>, tensor<4194304xf32>, tensor<4194304xf32>, tensor<4xf32>
  }
}
