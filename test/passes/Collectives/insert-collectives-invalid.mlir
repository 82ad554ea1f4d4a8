// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-insert-collectives

// expected-error @+1 {{has no dist.mesh; run --zc-annotate-mesh}}
module {}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @step(%x: tensor<4xf32>) {
    // expected-error @+1 {{has no shardings; run --zc-propagate-sharding}}
    %0 = train.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @step(%x: tensor<4xf32>) {
    // expected-error @+1 {{operand 0 is #dist.sharding<_> and cannot become #dist.sharding<_ unreduced dp>}}
    %0 = train.neg %x {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_ unreduced dp>]} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
