// RUN: zc-opt %s --zc-find-tokens="parts=2 attention=ring" --verify-diagnostics
// Tests that a mask of queries and keys goes round no ring.
func.func @step(%x: tensor<2x8x4x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %mask: tensor<2x1x8x8xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x8x4x6xf32> {
  // expected-error @below {{has a mask of queries and keys, which no ring of ranks hands on; --sp-attention gather divides it}}
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 1.0 : f64} : (tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x1x8x8xf32>) -> (tensor<2x8x4x6xf32>, tensor<2x4x8xf32>)
  return %result : tensor<2x8x4x6xf32>
}
