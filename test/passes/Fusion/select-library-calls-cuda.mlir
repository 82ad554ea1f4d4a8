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

// Tests that attention in 16 bits without a mask goes to cuDNN, its gradient
// where all three are wanted; and a product that is added to a sum of float32.
// CHECK-LABEL: func.func @attention
// CHECK: train.fused({{.*}}) {library = "cudnn.attention"
// CHECK: train.fused({{.*}}) {library = "cudnn.attention"
// CHECK: train.fused(%{{.*}}) : {{.*}} -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
// CHECK: train.fused({{.*}}) {library = "cublaslt.matmul"
func.func @attention(%q: tensor<2x8x4x16xbf16>, %f: tensor<2x8x4x16xf32>, %s: tensor<16x16xf32>, %m: tensor<16x16xbf16>)
    -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xf32>, tensor<16x16xf32>) {
  %0:2 = train.fused(%q, %q, %q) : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>) {
  ^bb0(%x: tensor<2x8x4x16xbf16>, %y: tensor<2x8x4x16xbf16>, %z: tensor<2x8x4x16xbf16>):
    %r, %l = train.attention %x, %y, %z {causal, scale = 0.25 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>)
    train.yield %r, %l : tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>
  }
  %1:3 = train.fused(%q, %q, %q, %0#0, %0#1, %q) : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) {
  ^bb0(%x: tensor<2x8x4x16xbf16>, %y: tensor<2x8x4x16xbf16>, %z: tensor<2x8x4x16xbf16>, %o: tensor<2x8x4x16xbf16>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x16xbf16>):
    %a, %b, %c = train.attention_grad %x, %y, %z, %o, %l, %g {causal, scale = 0.25 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>)
    train.yield %a, %b, %c : tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>
  }
  %2:2 = train.fused(%f) : (tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) {
  ^bb0(%x: tensor<2x8x4x16xf32>):
    %r, %l = train.attention %x, %x, %x {causal, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    train.yield %r, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  }
  %3 = train.fused(%s, %m, %m) : (tensor<16x16xf32>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32> {
  ^bb0(%x: tensor<16x16xf32>, %y: tensor<16x16xbf16>, %z: tensor<16x16xbf16>):
    %r = train.matmul_add %x, %y, %z : (tensor<16x16xf32>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
    train.yield %r : tensor<16x16xf32>
  }
  return %0#0, %1#0, %1#1, %2#0, %3 : tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xf32>, tensor<16x16xf32>
}
