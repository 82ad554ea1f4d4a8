// RUN: not zc-opt %s --zc-serve-parameters 2>&1 | FileCheck %s

// Tests that what one rank along dp cannot add up alone is refused.
module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>, dist.server} {
  func.func @step(%g: tensor<4xf32> {train.input = "g"}) -> (tensor<4xf32> {train.output = "y"}) {
    // CHECK: error: 'dist.all_reduce' op adds up gradients along ["dp", "tp"]; a parameter server does along dp alone
    %0 = dist.all_reduce %g {axes = ["dp", "tp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
