// RUN: zc-opt %s --zc-mark-tokens="parts=3 attention=gather dims=x=1" --verify-diagnostics
// Tests that an attention is not asked for in vain.

// expected-error @below {{--sp-attention gather has nothing to divide: no attention reads the tokens that --token-dim names}}
module {
  func.func @step(%x: tensor<2x9xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x9xf32> {
    return %x : tensor<2x9xf32>
  }
}
