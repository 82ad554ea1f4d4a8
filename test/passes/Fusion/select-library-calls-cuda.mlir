// RUN: zc-opt %s --zc-select-library-calls=target=cuda | FileCheck %s

// Tests that matmuls of float32 and bfloat16 go to cuBLASLt, convolutions of
// images to cuDNN, and that the rest stays with generated code.
// CHECK-LABEL: func.func @ops
// CHECK: train.fused(%{{.*}}, %{{.*}}) {library = "cublaslt.matmul"
// CHECK: train.fused(%{{.*}}, %{{.*}}) {library = "cublaslt.matmul"
// CHECK: train.fused(%{{.*}}, %{{.*}}) {library = "cudnn.convolution"
// CHECK: train.fused(%{{.*}}) : (tensor<64x64xf64>
func.func @ops(%a: tensor<64x64xf32>, %h: tensor<64x64xbf16>, %i: tensor<2x8x8x16xf32>, %f: tensor<32x16x3x3xf32>, %d: tensor<64x64xf64>)
    -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<2x8x8x32xf32>, tensor<64x64xf64>) {
  %0 = train.fused(%a, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>):
    %4 = train.matmul %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    train.yield %4 : tensor<64x64xf32>
  }
  %1 = train.fused(%h, %h) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  ^bb0(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>):
    %4 = train.matmul %x, %y : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    train.yield %4 : tensor<64x64xbf16>
  }
  %2 = train.fused(%i, %f) : (tensor<2x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<2x8x8x32xf32> {
  ^bb0(%x: tensor<2x8x8x16xf32>, %y: tensor<32x16x3x3xf32>):
    %4 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
        pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last}
        : (tensor<2x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<2x8x8x32xf32>
    train.yield %4 : tensor<2x8x8x32xf32>
  }
  %3 = train.fused(%d) : (tensor<64x64xf64>) -> tensor<64x64xf64> {
  ^bb0(%x: tensor<64x64xf64>):
    %4 = train.relu %x : (tensor<64x64xf64>) -> tensor<64x64xf64>
    train.yield %4 : tensor<64x64xf64>
  }
  return %0, %1, %2, %3 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<2x8x8x32xf32>, tensor<64x64xf64>
}
