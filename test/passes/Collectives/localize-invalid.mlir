// RUN: zc-opt %s --zc-localize --verify-diagnostics

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{works on the ranks' parts; whole tensors have no such op}}
    %0 = dist.broadcast %x {axes = ["dp"], root = 0 : i64, traffic = "parameters"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
