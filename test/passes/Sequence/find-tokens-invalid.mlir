// RUN: zc-opt %s --zc-find-tokens="parts=3 attention=ulysses" --split-input-file --verify-diagnostics
// Tests that tokens and heads must divide among the ranks, and that what reads
// tokens one after another is refused.

// expected-error @below {{input 'x': 8 tokens, dim 1, do not divide among 3 ranks of 'sp'; the next sizes that do are 6 and 9}}
func.func @step(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

func.func @step(%x: tensor<2x9x4x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x9x4x6xf32> {
  // expected-error @below {{has 4 heads, which 3 ranks of 'sp' and 'tp' cannot divide; sizes of 'sp' that can are 1, 2, 4; --sp-attention ring and gather divide no heads}}
  %result, %sums = train.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>) -> (tensor<2x9x4x6xf32>, tensor<2x4x9xf32>)
  return %result : tensor<2x9x4x6xf32>
}

// -----

// A recurrence computes a token from the one before.
func.func @step(%x: tensor<2x9x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x1x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<2x9x3x6xf32>, tensor<2x9x3x6xf32>, tensor<2x9x3x6xf32>) -> (tensor<2x9x3x6xf32>, tensor<2x3x9xf32>)
  // expected-error @below {{computes tokens one after another, which 'sp' divides among 3 ranks; leave the axis at 1}}
  %t:9 = train.split %result {dim = 1 : i64} : (tensor<2x9x3x6xf32>) -> (tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>, tensor<2x1x3x6xf32>)
  return %t#8 : tensor<2x1x3x6xf32>
}
