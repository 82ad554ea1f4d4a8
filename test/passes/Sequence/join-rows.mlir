// RUN: zc-opt %s --zc-join-rows | FileCheck %s

// Tests that products of rows of several dims become products of matrices.
// CHECK: %[[X:.*]] = train.reshape %{{.*}} : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
// CHECK: %[[P:.*]] = train.matmul %[[X]], %{{.*}} {transpose_rhs} : (tensor<24x8xf32>, tensor<5x8xf32>) -> tensor<24x5xf32>
// CHECK: train.reshape %[[P]] : (tensor<24x5xf32>) -> tensor<4x6x5xf32>
// CHECK: train.matmul %{{.*}} {transpose_lhs} : (tensor<24x8xf32>, tensor<24x5xf32>) -> tensor<8x5xf32>
// CHECK: train.matmul %{{.*}} : (tensor<4x6x8xf32>, tensor<4x8x5xf32>) -> tensor<4x6x5xf32>
func.func @step(%x: tensor<4x6x8xf32>, %w: tensor<5x8xf32>, %y: tensor<4x8x5xf32>)
    -> (tensor<8x5xf32>, tensor<4x6x5xf32>) {
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<4x6x8xf32>, tensor<5x8xf32>) -> tensor<4x6x5xf32>
  %1 = train.matmul %x, %0 {transpose_lhs} : (tensor<4x6x8xf32>, tensor<4x6x5xf32>) -> tensor<8x5xf32>
  %2 = train.matmul %x, %y : (tensor<4x6x8xf32>, tensor<4x8x5xf32>) -> tensor<4x6x5xf32>
  return %1, %2 : tensor<8x5xf32>, tensor<4x6x5xf32>
}
