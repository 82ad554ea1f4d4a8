// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --cse | FileCheck %s

// Tests that layers have one levelled mask, once what is computed twice is
// joined: its rows are kept for the backward once.
// CHECK-LABEL: func.func @layers
// CHECK: %[[LEVEL:.*]] = train.sub
// CHECK-NOT: train.sub
// CHECK: train.attention %{{.*}}, %[[LEVEL]] {scale
// CHECK: train.attention %{{.*}}, %[[LEVEL]] {scale
func.func @layers(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %mask: tensor<2x1x4x4xf32> {train.input = "mask", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %0, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  %1, %more = train.attention %0, %0, %0, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %1 : tensor<2x4x3x6xf32>
}
