// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s --check-prefix=CPU
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s --check-prefix=CUDA

// Tests how large chunks are: of 256 samples on CPUs, of half of all, up to 4096,
// on GPUs.
// CPU-COUNT-8: train.softmax_cross_entropy_grad {{.*}} tensor<256x10xf32>
// CPU-NOT: train.softmax_cross_entropy_grad
// CUDA-COUNT-2: train.softmax_cross_entropy_grad {{.*}} tensor<1024x10xf32>
// CUDA-NOT: train.softmax_cross_entropy_grad
func.func @step(%x: tensor<2048x4xf32>, %w: tensor<10x4xf32>, %t: tensor<2048xi64>, %s: tensor<2048xf32>)
    -> (tensor<2048xf32>, tensor<10x4xf32>) {
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<2048x4xf32>, tensor<10x4xf32>) -> tensor<2048x10xf32>
  %loss, %lse = train.softmax_cross_entropy %0, %t {ignore_index = -100 : i64}
      : (tensor<2048x10xf32>, tensor<2048xi64>) -> (tensor<2048xf32>, tensor<2048xf32>)
  %1 = train.softmax_cross_entropy_grad %0, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<2048x10xf32>, tensor<2048xi64>, tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048x10xf32>
  %2 = train.matmul %1, %x {train.gradients = array<i64: 0>, transpose_lhs} : (tensor<2048x10xf32>, tensor<2048x4xf32>) -> tensor<10x4xf32>
  return %loss, %2 : tensor<2048xf32>, tensor<10x4xf32>
}
