// RUN: zc-opt %s --zc-place-experts --split-input-file --verify-diagnostics
// Tests that rows of experts need a mesh, and dims that it divides.

// expected-error @below {{has no dist.mesh; run --zc-annotate-mesh}}
module {
  func.func @step(%x: tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
    %0 = train.place_experts %x {to_experts} : (tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    return %0 : tensor<4x8x3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2, ep=2>} {
  func.func @step(%x: tensor<4x6x3xf32>) -> tensor<4x6x3xf32> {
    // expected-error @below {{dim 1 of 'tensor<4x6x3xf32>' does not divide among 4 ranks}}
    %0 = train.place_experts %x : (tensor<4x6x3xf32>) -> tensor<4x6x3xf32>
    return %0 : tensor<4x6x3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<ep=2>} {
  func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{expected dims of experts and of groups}}
    %0 = train.place_experts %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
