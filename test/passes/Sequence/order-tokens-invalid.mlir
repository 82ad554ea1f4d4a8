// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring=zigzag" --split-input-file --verify-diagnostics
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --split-input-file

// Tests that who asks for zigzag is told why tokens stay in their order.

func.func @full(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  // expected-error @below {{--sp-attention ring=zigzag: an attention is not causal: its work is even as it is; ring=contiguous leaves tokens where they are}}
  %result, %sums = train.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

func.func @odd(%x: tensor<2x6x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x6x3x6xf32> {
  // expected-error @below {{6 tokens do not divide in 4 chunks, two for each rank}}
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x6x3x6xf32>, tensor<2x6x3x6xf32>, tensor<2x6x3x6xf32>) -> (tensor<2x6x3x6xf32>, tensor<2x3x6xf32>)
  return %result : tensor<2x6x3x6xf32>
}

// -----

// expected-error @below {{the model merges tokens that stand side by side}}
func.func @merged(%x: tensor<2x12x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x6x6x6xf32> {
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x12x3x6xf32>, tensor<2x12x3x6xf32>, tensor<2x12x3x6xf32>) -> (tensor<2x12x3x6xf32>, tensor<2x3x12xf32>)
  %0 = train.reshape %result : (tensor<2x12x3x6xf32>) -> tensor<2x6x6x6xf32>
  return %0 : tensor<2x6x6x6xf32>
}
