// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-propagate-sharding

// expected-error @+1 {{has no dist.mesh; run --zc-annotate-mesh}}
module {}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @step(%x: tensor<4xf32>) {
    // expected-error @+1 {{has no sharding rule}}
    %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tensor<4xi32>
    return
  }
}
