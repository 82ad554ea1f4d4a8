// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring=zigzag" --split-input-file --verify-diagnostics
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --split-input-file

// Tests that who asks for zigzag is told why tokens stay in their order.

// expected-error @below {{--sp-attention ring=zigzag: slice reads tokens in their order; ring=contiguous leaves tokens where they are}}
func.func @shifted(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x7x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  %0 = train.slice %result {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x8x3x6xf32>) -> tensor<2x7x3x6xf32>
  return %0 : tensor<2x7x3x6xf32>
}

// -----

// expected-error @below {{an attention is not causal: its work is even as it is}}
func.func @full(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

// expected-error @below {{6 tokens do not divide in 4 chunks, two for each rank}}
func.func @odd(%x: tensor<2x6x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x6x3x6xf32> {
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
