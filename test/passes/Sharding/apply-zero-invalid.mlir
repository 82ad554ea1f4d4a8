// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-apply-zero="stage=1 axes=dp unit=house"

// expected-error @+1 {{expected a dist.mesh and @step with gradients}}
module {}

// -----

// expected-error @+1 {{unit: expected auto, layer or a number of bytes, found 'house'}}
module attributes {dist.mesh = #dist.mesh<dp=4>} {
  func.func @step() {
    return
  }
}
