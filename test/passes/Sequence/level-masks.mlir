// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring=contiguous" --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=gather" --split-input-file | FileCheck %s --check-prefix=STAYS

// Tests that of a mask of which nothing is known the largest number of a query
// is subtracted, where it hides all keys and scores are not lost in it.
// CHECK-LABEL: func.func @fed
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<2x1x4x4xf32>
// CHECK: %[[MOST:.*]] = train.reduce "max" %[[MASK]] {dims = array<i64: 3>} : (tensor<2x1x4x4xf32>) -> tensor<2x1x4xf32>
// CHECK: train.constant dense<-1.000000e+03>
// CHECK: %[[BELOW:.*]] = train.compare "lt" %[[MOST]]
// CHECK: train.constant dense<-2.000000e+08>
// CHECK: %[[ABOVE:.*]] = train.compare "ge" %[[MOST]]
// CHECK: %[[DEEP:.*]] = train.and %[[BELOW]], %[[ABOVE]]
// CHECK: %[[COMMON:.*]] = train.select %[[DEEP]], %[[MOST]],
// CHECK: %[[ROWS:.*]] = train.broadcast %[[COMMON]] {dims = array<i64: 0, 1, 2>}
// CHECK: %[[LEVEL:.*]] = train.sub %[[MASK]], %[[ROWS]]
// CHECK: train.attention %{{.*}}, %[[LEVEL]] {scale
// STAYS-LABEL: func.func @fed
// STAYS-NOT: train.sub
func.func @fed(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
               %mask: tensor<2x1x4x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests one of keys alone, which goes round with them.
// CHECK-LABEL: func.func @keys
// CHECK: %[[LEVEL:.*]] = train.sub %{{.*}} -> tensor<2x1x1x4xf32>
// CHECK: train.attention %{{.*}}, %[[LEVEL]] {scale
func.func @keys(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %mask: tensor<2x1x1x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x1x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that of a causal attention's mask of queries and keys the largest number
// is that of the keys up to each query.
// CHECK-LABEL: func.func @causal(
// CHECK: %[[LATER:.*]] = train.compare "lt"
// CHECK: %[[ROWS:.*]] = train.select %[[LATER]], %{{.*}} -> tensor<2x1x4x4xf32>
// CHECK: train.reduce "max" %[[ROWS]]
// CHECK: %[[LEVEL:.*]] = train.sub %[[ROWS]]
// CHECK: train.attention %{{.*}}, %[[LEVEL]] {scale
// STAYS-LABEL: func.func @causal(
// STAYS: train.attention %{{.*}} {causal,
func.func @causal(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %mask: tensor<2x1x4x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {causal, scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that one of keys stays as it is beside a causal one: its keys are
// counted.
// CHECK-LABEL: func.func @causal_keys
// CHECK-NOT: train.sub
// CHECK: train.attention %{{.*}} {causal,
func.func @causal_keys(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %mask: tensor<2x1x1x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {causal, scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x1x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that a number in which not all scores are lost is levelled, and so is
// its sum with one that is far away.
// CHECK-LABEL: func.func @near
// CHECK: train.reduce "max"
// CHECK: train.sub
// CHECK: train.attention
func.func @near(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-65504.0> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %far = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %b = train.select %0, %zero, %far : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %c = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %a = train.add %b, %c : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %a {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that -1e8 is levelled, too: scores could lift a block's sums above the
// number below which they are taken for lost.
// CHECK-LABEL: func.func @edge
// CHECK: train.reduce "max"
// CHECK: train.sub
// CHECK: train.attention
func.func @edge(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-1.0e+8> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %far = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %b = train.select %0, %zero, %far : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %c = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %a = train.add %b, %c : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %a {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that float16, which has only minus infinity below -65504, is levelled
// where numbers are finite.
// CHECK-LABEL: func.func @half
// CHECK: %[[MOST:.*]] = train.reduce "max"
// CHECK: %[[BELOW:.*]] = train.compare "lt" %[[MOST]]
// CHECK: %[[INFINITY:.*]] = train.constant dense<0xFC00> : tensor<2x1x4xf16>
// CHECK: %[[ABOVE:.*]] = train.compare "gt" %[[MOST]], %[[INFINITY]]
// CHECK: %[[DEEP:.*]] = train.and %[[BELOW]], %[[ABOVE]]
// CHECK: train.select %[[DEEP]], %[[MOST]],
func.func @half(%x: tensor<2x4x3x6xf16> {train.input = "x", train.batch_dim = 0 : i64},
                %mask: tensor<2x1x4x4xf16> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf16> {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf16>, tensor<2x4x3x6xf16>, tensor<2x4x3x6xf16>, tensor<2x1x4x4xf16>) -> (tensor<2x4x3x6xf16>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf16>
}
