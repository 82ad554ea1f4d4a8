// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-drop-equal-blocks
// Tests a module that has no forward.

// expected-error @below {{has no program 'forward'}}
module {
  func.func @step(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}
