// RUN: zc-opt %s --zc-annotate-target=threads=2 --zc-select-library-calls | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=libraries=-onednn.matmul --zc-select-library-calls | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-LABEL: func.func @ops
// WITHOUT: train.fused(%{{.*}}, %{{.*}}) : (tensor<64x64xf32>
// WITHOUT: library = "onednn.convolution"

// Tests that float32 matmuls and convolutions go to oneDNN with a bound on its
// workspace, and that double precision stays with generated code.
// CHECK-LABEL: func.func @ops
// CHECK: train.fused(%{{.*}}, %{{.*}}) {library = "onednn.matmul", workspace_bytes = {{[1-9][0-9]*}} : i64}
// CHECK: train.fused(%{{.*}}, %{{.*}}) {library = "onednn.convolution", workspace_bytes = {{[1-9][0-9]*}} : i64}
// CHECK: train.fused(%{{.*}}, %{{.*}}) : (tensor<64x64xf64>
func.func @ops(%a: tensor<64x64xf32>, %i: tensor<2x8x8x16xf32>, %f: tensor<32x16x3x3xf32>, %d: tensor<64x64xf64>)
    -> (tensor<64x64xf32>, tensor<2x8x8x32xf32>, tensor<64x64xf64>) {
  %0 = train.fused(%a, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>):
    %3 = train.matmul %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    train.yield %3 : tensor<64x64xf32>
  }
  %1 = train.fused(%i, %f) : (tensor<2x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<2x8x8x32xf32> {
  ^bb0(%x: tensor<2x8x8x16xf32>, %y: tensor<32x16x3x3xf32>):
    %3 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
        pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last}
        : (tensor<2x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<2x8x8x32xf32>
    train.yield %3 : tensor<2x8x8x32xf32>
  }
  %2 = train.fused(%d, %d) : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64> {
  ^bb0(%x: tensor<64x64xf64>, %y: tensor<64x64xf64>):
    %3 = train.matmul %x, %y : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    train.yield %3 : tensor<64x64xf64>
  }
  return %0, %1, %2 : tensor<64x64xf32>, tensor<2x8x8x32xf32>, tensor<64x64xf64>
}

// Tests that a product added to what is there is done in place.
// CHECK-LABEL: func.func @sum
// CHECK: train.fused({{.*}}) {library = "onednn.matmul", shared_buffers = array<i64: 0, 0>, workspace_bytes
func.func @sum(%c: tensor<64x64xf32>, %a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = train.fused(%c, %a, %a) {shared_buffers = array<i64: 0, 0>} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%z: tensor<64x64xf32>, %x: tensor<64x64xf32>, %y: tensor<64x64xf32>):
    %1 = train.matmul_add %z, %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    train.yield %1 : tensor<64x64xf32>
  }
  return %0 : tensor<64x64xf32>
}
