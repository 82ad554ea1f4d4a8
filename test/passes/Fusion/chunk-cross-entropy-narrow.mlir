// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s

// Tests that logits of 16 bits are chunked too: losses are of float32, gradients
// of weights are added up in float32 and rounded at the end.
// CHECK-LABEL: func.func @step
// CHECK-NOT: tensor<256x10xbf16>
// CHECK: train.softmax_cross_entropy {{.*}} -> (tensor<128xf32>, tensor<128xf32>)
// CHECK: %[[DW0:.*]] = train.matmul {{.*}} {transpose_lhs} : {{.*}} -> tensor<4x10xf32>
// CHECK: %[[DW1:.*]] = train.matmul_add %[[DW0]], {{.*}} -> tensor<4x10xf32>
// CHECK: train.convert %[[DW1]] {train.gradients = array<i64: 0>} : (tensor<4x10xf32>) -> tensor<4x10xbf16>
// CHECK-NOT: tensor<256x10xbf16>
func.func @step(%x: tensor<256x4xbf16>, %w: tensor<4x10xbf16>, %t: tensor<256xi64>, %s: tensor<256xf32>)
    -> (tensor<256xf32>, tensor<4x10xbf16>, tensor<10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xbf16>, tensor<4x10xbf16>) -> tensor<256x10xbf16>
  %loss, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
      : (tensor<256x10xbf16>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  %6 = train.softmax_cross_entropy_grad %1, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<256x10xbf16>, tensor<256xi64>, tensor<256xf32>, tensor<256xf32>) -> tensor<256x10xbf16>
  %9 = train.matmul %x, %6 {train.gradients = array<i64: 0>, transpose_lhs} : (tensor<256x4xbf16>, tensor<256x10xbf16>) -> tensor<4x10xbf16>
  %10 = train.reduce "sum" %6 {dims = array<i64: 0>} : (tensor<256x10xbf16>) -> tensor<10xf32>
  return %loss, %9, %10 : tensor<256xf32>, tensor<4x10xbf16>, tensor<10xf32>
}
