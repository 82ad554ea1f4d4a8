// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{axis=ep ranks=2 group-tokens=2})' --split-input-file --verify-diagnostics
// Tests experts that no rank can have a part of, tokens that are no groups, and
// models without experts.

// expected-error @below {{axis 'ep' is given, but the model has no experts that zc knows}}
module {
  func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    return %x : tensor<2x3xf32>
  }
}

// -----

train.state @w "parameter" : tensor<3x5x8xf32>
func.func @forward(%w: tensor<3x5x8xf32> {train.state = @w}, %x: tensor<4x5xf32>, %groups: tensor<4xi64>, %ids: tensor<3xi64>) -> tensor<4x8xf32> {
  // expected-error @below {{its 3 experts do not divide among the 2 ranks of ep}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<4x5xf32>, tensor<3x5x8xf32>, tensor<4xi64>, tensor<3xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

train.state @w "parameter" : tensor<4x5x8xf32>
func.func @forward(%w: tensor<4x5x8xf32> {train.state = @w}, %x: tensor<3x5xf32>, %groups: tensor<3xi64>, %ids: tensor<4xi64>) -> tensor<3x8xf32> {
  // expected-error @below {{groups of 2 tokens do not divide its 3}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 4 : i64} : (tensor<3x5xf32>, tensor<4x5x8xf32>, tensor<3xi64>, tensor<4xi64>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

func.func @forward(%w: tensor<4x5x8xf32>, %x: tensor<4x5xf32>, %groups: tensor<4xi64>, %ids: tensor<4xi64>) -> tensor<4x8xf32> {
  // expected-error @below {{its experts' weights are computed; expected a parameter, whose dim 0 counts experts, to divide over ep: stack them in the model, as torch.stack does once and tools/export/zc_moe.py's MoE has them, or divide the batch by dp and weights by --zero 3 instead}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 4 : i64} : (tensor<4x5xf32>, tensor<4x5x8xf32>, tensor<4xi64>, tensor<4xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
