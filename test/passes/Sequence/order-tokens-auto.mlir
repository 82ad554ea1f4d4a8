// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=auto" --zc-find-tokens="axis=sp parts=2 attention=auto" | FileCheck %s

// Tests that auto, where two ranks cannot divide three heads, lets keys go round
// in zigzag order under a causal mask and one of keys whose numbers are not
// known: the mask goes with the keys.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x3x6xf32> {{.*}} %[[MASK:[a-z0-9]+]]: tensor<2x1x1x8xf32>
// CHECK: train.gather %[[X]]
// CHECK: %[[ORDERED:.*]] = train.gather %[[MASK]], {{.*}} {dim = 3 : i64}
// CHECK: train.attention %{{.*}}, %[[ORDERED]] {causal, {{.*}}train.tokens = "ring=zigzag"}
func.func @step(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %mask: tensor<2x1x1x8xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {causal, scale = 0.5 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x1x1x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}
