// RUN: zc-opt %s --zc-find-tokens="parts=2 attention=ring" | FileCheck %s
// RUN: zc-opt %s --zc-find-tokens="parts=2" | FileCheck %s --check-prefix=AUTO

// Tests that keys go round under a mask of queries and keys where that is asked
// for, and are gathered where it is not.
// CHECK-LABEL: func.func @step
// CHECK: train.attention {{.*}}tokens = "ring"
// AUTO-LABEL: func.func @step
// AUTO: train.attention {{.*}}tokens = "gather"
func.func @step(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %mask: tensor<2x1x8x8xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x1x8x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}
