// RUN: zc-opt %s --split-input-file --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-chunk-cross-entropy | FileCheck %s --check-prefix=SMALL

// Tests that a product with a bias, its loss and its gradients are done in two
// chunks: logits of 128 samples, gradients of the weights added in place, rows of
// the others joined. Small logits are left alone.
// SMALL-LABEL: func.func @step
// SMALL-NOT: train.slice
// CHECK-LABEL: func.func @step
// CHECK-NOT: tensor<256x10xf32>
// CHECK: %[[X0:.*]] = train.slice %{{.*}} {offsets = array<i64: 0, 0>
// CHECK: %[[L0:.*]] = train.matmul %[[X0]], %{{.*}} {transpose_rhs} : (tensor<128x4xf32>, tensor<10x4xf32>) -> tensor<128x10xf32>
// CHECK: %[[B0:.*]] = train.add %[[L0]]
// CHECK: train.softmax_cross_entropy %[[B0]], %{{.*}} {ignore_index = -100 : i64}
// CHECK: %[[G0:.*]] = train.softmax_cross_entropy_grad %[[B0]]
// CHECK-DAG: %[[DX0:.*]] = train.matmul %[[G0]], %{{.*}} : (tensor<128x10xf32>, tensor<10x4xf32>)
// CHECK-DAG: %[[DW0:.*]] = train.matmul %[[G0]], %{{.*}} {transpose_lhs}
// CHECK: %[[DB0:.*]] = train.reduce "sum" %[[G0]] {dims = array<i64: 0>}
// CHECK: train.slice %{{.*}} {offsets = array<i64: 128, 0>
// CHECK: %[[G1:.*]] = train.softmax_cross_entropy_grad
// CHECK-DAG: %[[DX1:.*]] = train.matmul %[[G1]]
// CHECK-DAG: %[[DW:.*]] = train.matmul_add %[[DW0]], %[[G1]], %{{.*}} {train.gradients = array<i64: 0>, transpose_lhs}
// CHECK: train.concat %[[DX0]], %[[DX1]]
// CHECK-NOT: tensor<256x10xf32>
func.func @step(%x: tensor<2x128x4xf32>, %w: tensor<10x4xf32>, %b: tensor<10xf32>, %t: tensor<2x128xi64>, %s: tensor<f32>)
    -> (tensor<2x128xf32>, tensor<256x4xf32>, tensor<10x4xf32>, tensor<10xf32>) {
  %0 = train.reshape %x : (tensor<2x128x4xf32>) -> tensor<256x4xf32>
  %1 = train.matmul %0, %w {transpose_rhs} : (tensor<256x4xf32>, tensor<10x4xf32>) -> tensor<256x10xf32>
  %2 = train.reshape %1 : (tensor<256x10xf32>) -> tensor<2x128x10xf32>
  %3 = train.broadcast %b {dims = array<i64: 2>} : (tensor<10xf32>) -> tensor<2x128x10xf32>
  %4 = train.add %2, %3 : (tensor<2x128x10xf32>, tensor<2x128x10xf32>) -> tensor<2x128x10xf32>
  %loss, %lse = train.softmax_cross_entropy %4, %t {ignore_index = -100 : i64}
      : (tensor<2x128x10xf32>, tensor<2x128xi64>) -> (tensor<2x128xf32>, tensor<2x128xf32>)
  %5 = train.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<2x128xf32>
  %6 = train.softmax_cross_entropy_grad %4, %t, %lse, %5 {ignore_index = -100 : i64}
      : (tensor<2x128x10xf32>, tensor<2x128xi64>, tensor<2x128xf32>, tensor<2x128xf32>) -> tensor<2x128x10xf32>
  %7 = train.reshape %6 : (tensor<2x128x10xf32>) -> tensor<256x10xf32>
  %8 = train.matmul %7, %w : (tensor<256x10xf32>, tensor<10x4xf32>) -> tensor<256x4xf32>
  %9 = train.matmul %7, %0 {train.gradients = array<i64: 0>, transpose_lhs} : (tensor<256x10xf32>, tensor<256x4xf32>) -> tensor<10x4xf32>
  %10 = train.reduce "sum" %6 {dims = array<i64: 0, 1>} : (tensor<2x128x10xf32>) -> tensor<10xf32>
  return %loss, %8, %9, %10 : tensor<2x128xf32>, tensor<256x4xf32>, tensor<10x4xf32>, tensor<10xf32>
}

// -----

// Tests that logits that something else reads stay whole.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK-NOT: train.slice
func.func @read_elsewhere(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %t: tensor<256xi64>, %s: tensor<256xf32>)
    -> (tensor<256xf32>, tensor<4x10xf32>, tensor<256x10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %loss, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>) -> (tensor<256xf32>, tensor<256xf32>)
  %6 = train.softmax_cross_entropy_grad %1, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<256x10xf32>, tensor<256xi64>, tensor<256xf32>, tensor<256xf32>) -> tensor<256x10xf32>
  %9 = train.matmul %x, %6 {transpose_lhs} : (tensor<256x4xf32>, tensor<256x10xf32>) -> tensor<4x10xf32>
  %r = train.relu %1 : (tensor<256x10xf32>) -> tensor<256x10xf32>
  return %loss, %9, %r : tensor<256xf32>, tensor<4x10xf32>, tensor<256x10xf32>
}

// -----

// Tests that two losses of the same logits are done together, and that the first
// of several dims that count samples may be 1.
// CHECK-LABEL: func.func @two_losses
// CHECK-NOT: 256x10x
// CHECK-COUNT-4: train.softmax_cross_entropy_grad {{.*}} -> tensor<128x10xf32>
// CHECK-NOT: 256x10x
func.func @two_losses(%x: tensor<256x4xf32>, %w: tensor<4x10xf32>, %t: tensor<1x256xi64>, %u: tensor<1x256xi64>, %s: tensor<f32>)
    -> (tensor<1x256xf32>, tensor<1x256xf32>, tensor<4x10xf32>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf32>, tensor<4x10xf32>) -> tensor<256x10xf32>
  %2 = train.reshape %1 : (tensor<256x10xf32>) -> tensor<1x256x10xf32>
  %3 = train.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<1x256xf32>
  %loss, %lse = train.softmax_cross_entropy %2, %t {ignore_index = -100 : i64}
      : (tensor<1x256x10xf32>, tensor<1x256xi64>) -> (tensor<1x256xf32>, tensor<1x256xf32>)
  %4 = train.softmax_cross_entropy_grad %2, %t, %lse, %3 {ignore_index = -100 : i64}
      : (tensor<1x256x10xf32>, tensor<1x256xi64>, tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256x10xf32>
  %loss_0, %lse_1 = train.softmax_cross_entropy %2, %u {ignore_index = -100 : i64}
      : (tensor<1x256x10xf32>, tensor<1x256xi64>) -> (tensor<1x256xf32>, tensor<1x256xf32>)
  %5 = train.softmax_cross_entropy_grad %2, %u, %lse_1, %3 {ignore_index = -100 : i64}
      : (tensor<1x256x10xf32>, tensor<1x256xi64>, tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256x10xf32>
  %6 = train.add %4, %5 : (tensor<1x256x10xf32>, tensor<1x256x10xf32>) -> tensor<1x256x10xf32>
  %7 = train.reshape %6 : (tensor<1x256x10xf32>) -> tensor<256x10xf32>
  %8 = train.matmul %x, %7 {transpose_lhs} : (tensor<256x4xf32>, tensor<256x10xf32>) -> tensor<4x10xf32>
  return %loss, %loss_0, %8 : tensor<1x256xf32>, tensor<1x256xf32>, tensor<4x10xf32>
}
