// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=auto" | FileCheck %s
// RUN: zc-opt %s --zc-order-tokens="parts=3 attention=auto" | FileCheck %s --check-prefix=STAYS

// Tests that auto takes a causal mask and padding apart for a ring where two
// ranks cannot divide three heads, and not where three ranks can: the sequence
// is short, so that less is waited for.
// CHECK: train.token_order = "zigzag"
// CHECK: train.attention {{.*}}causal
// STAYS-NOT: train.token_order
// STAYS: train.attention %{{.*}} {scale
func.func @step(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %mask = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}
