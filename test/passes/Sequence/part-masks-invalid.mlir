// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --split-input-file --verify-diagnostics

// Tests that a number in which not all scores are lost goes round no ring, nor
// does its sum with one that is far away.
func.func @near(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-1.0e+9> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %far = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %b = train.select %0, %zero, %far : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %c = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %a = train.add %b, %c : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  // expected-error @below {{has a mask of queries and keys that no ring of ranks adds up: it may hide all keys of a query, and not by numbers of at most -1e30; --sp-attention gather and ulysses divide it}}
  %result, %sums = train.attention %x, %x, %x, %a {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests a mask of which nothing is known.
func.func @fed(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
               %mask: tensor<2x1x4x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  // expected-error @below {{has a mask of queries and keys that no ring of ranks adds up: it may hide all keys of a query, and not by numbers of at most -1e30; --sp-attention gather and ulysses divide it}}
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}
