// RUN: zc-opt %s --zc-mark-tokens="parts=3 dims=x=1" --split-input-file --verify-diagnostics
// Tests that an input of a given name must have such a dim, of tokens that
// divide.

// expected-error @below {{--token-dim x=1: the input is 'tensor<2xf32>'}}
func.func @step(%x: tensor<2xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// expected-error @below {{--token-dim x=1: the dim counts samples}}
func.func @step(%x: tensor<2x9xf32> {train.input = "x", train.batch_dim = 1 : i64}) -> tensor<2x9xf32> {
  return %x : tensor<2x9xf32>
}

// -----

// expected-error @below {{input 'x': 8 tokens, dim 1, do not divide among 3 ranks of 'sp'; the next sizes that do are 6 and 9}}
func.func @step(%x: tensor<2x8xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x8xf32> {
  return %x : tensor<2x8xf32>
}

// -----

// expected-error @below {{input 'x': 2 tokens, dim 1, do not divide among 3 ranks of 'sp'; the next size that does is 3}}
func.func @step(%x: tensor<2x2xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x2xf32> {
  return %x : tensor<2x2xf32>
}

// -----

// expected-error @below {{--token-dim x=1: no input has that name; there are 'y'}}
module {
  func.func @step(%y: tensor<2x9xf32> {train.input = "y", train.batch_dim = 0 : i64}) -> tensor<2x9xf32> {
    return %y : tensor<2x9xf32>
  }
}
