// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=auto" --zc-find-tokens="axis=sp parts=2 attention=auto" --split-input-file | FileCheck %s

// Tests that auto, where two ranks cannot divide three heads, lets keys go round
// also under a causal mask and one of keys whose numbers are not known: blocks
// are levelled. The mask is in the order of the keys.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x3x6xf32> {{.*}} %[[MASK:[a-z0-9]+]]: tensor<2x1x1x8xf32>
// CHECK-DAG: train.gather %[[X]]
// CHECK-DAG: %[[ORDERED:.*]] = train.gather %[[MASK]], {{.*}} {dim = 3 : i64}
// CHECK: train.attention %{{.*}}, %[[ORDERED]] {causal, {{.*}}tokens = "ring=zigzag"}
func.func @step(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %mask: tensor<2x1x1x8xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {causal, scale = 0.5 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x1x1x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

// Tests that keys go round under one whose numbers hide by minus infinity: the
// mask goes with them.
// CHECK-LABEL: func.func @known
// CHECK: %[[KEYS:.*]] = train.select
// CHECK: %[[ORDERED:.*]] = train.gather %[[KEYS]], {{.*}} {dim = 3 : i64}
// CHECK: train.attention %{{.*}}, %[[ORDERED]] {causal, {{.*}}tokens = "ring=zigzag"}
func.func @known(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %seen: tensor<2x1x1x8xi1> {train.input = "seen", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %zero = train.constant dense<0.0> : tensor<2x1x1x8xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x1x8xf32>
  %mask = train.select %seen, %zero, %lowest : (tensor<2x1x1x8xi1>, tensor<2x1x1x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x1x1x8xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {causal, scale = 0.5 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x1x1x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}
