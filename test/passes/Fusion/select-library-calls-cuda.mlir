// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-select-library-calls | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target="device=cuda libraries=-cudnn.pooling" --zc-select-library-calls | FileCheck %s --check-prefix=POOLING

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
    %4 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 1>,
        pads_high = array<i64: 2, 1>, groups = 1 : i64, channels_last}
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
// CHECK: train.fused(%{{.*}}) : {{.*}} -> (tensor<2x128x4x16xf32>, tensor<2x4x128xf32>)
// CHECK: train.fused({{.*}}) {library = "cublaslt.matmul"
func.func @attention(%q: tensor<2x128x4x16xbf16>, %f: tensor<2x128x4x16xf32>, %s: tensor<16x16xf32>, %m: tensor<16x16xbf16>)
    -> (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xf32>, tensor<16x16xf32>) {
  %0:2 = train.fused(%q, %q, %q) : (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>) -> (tensor<2x128x4x16xbf16>, tensor<2x4x128xf32>) {
  ^bb0(%x: tensor<2x128x4x16xbf16>, %y: tensor<2x128x4x16xbf16>, %z: tensor<2x128x4x16xbf16>):
    %r, %l = train.attention %x, %y, %z {causal, scale = 0.25 : f64} : (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>) -> (tensor<2x128x4x16xbf16>, tensor<2x4x128xf32>)
    train.yield %r, %l : tensor<2x128x4x16xbf16>, tensor<2x4x128xf32>
  }
  %1:3 = train.fused(%q, %q, %q, %0#0, %0#1, %q) : (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x4x128xf32>, tensor<2x128x4x16xbf16>) -> (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>) {
  ^bb0(%x: tensor<2x128x4x16xbf16>, %y: tensor<2x128x4x16xbf16>, %z: tensor<2x128x4x16xbf16>, %o: tensor<2x128x4x16xbf16>, %l: tensor<2x4x128xf32>, %g: tensor<2x128x4x16xbf16>):
    %a, %b, %c = train.attention_grad %x, %y, %z, %o, %l, %g {causal, scale = 0.25 : f64} : (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x4x128xf32>, tensor<2x128x4x16xbf16>) -> (tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>)
    train.yield %a, %b, %c : tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>
  }
  %2:2 = train.fused(%f) : (tensor<2x128x4x16xf32>) -> (tensor<2x128x4x16xf32>, tensor<2x4x128xf32>) {
  ^bb0(%x: tensor<2x128x4x16xf32>):
    %r, %l = train.attention %x, %x, %x {causal, scale = 0.25 : f64} : (tensor<2x128x4x16xf32>, tensor<2x128x4x16xf32>, tensor<2x128x4x16xf32>) -> (tensor<2x128x4x16xf32>, tensor<2x4x128xf32>)
    train.yield %r, %l : tensor<2x128x4x16xf32>, tensor<2x4x128xf32>
  }
  %3 = train.fused(%s, %m, %m) : (tensor<16x16xf32>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32> {
  ^bb0(%x: tensor<16x16xf32>, %y: tensor<16x16xbf16>, %z: tensor<16x16xbf16>):
    %r = train.matmul_add %x, %y, %z : (tensor<16x16xf32>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
    train.yield %r : tensor<16x16xf32>
  }
  return %0#0, %1#0, %1#1, %2#0, %3 : tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xbf16>, tensor<2x128x4x16xf32>, tensor<16x16xf32>
}

// Tests that max pools of images go to cuDNN in either order in memory; not
// with a dilation, with a window in the padding alone, of one spatial dim; nor
// one that leaves places.
// CHECK-LABEL: func.func @pools
// CHECK-COUNT-2: library = "cudnn.pooling"
// CHECK-NOT: library
// CHECK: dilations = array<i64: 2, 2>
// CHECK: train.fused(%{{.*}}) {library = "cudnn.pooling"
// CHECK-NOT: library
// POOLING-LABEL: func.func @pools
// POOLING-NOT: library
func.func @pools(%i: tensor<2x8x8x16xbf16>, %c: tensor<2x16x8x8xf32>, %l: tensor<2x16x8xf32>)
    -> (tensor<2x4x4x16xbf16>, tensor<2x16x4x4xf32>, tensor<2x3x3x16xbf16>, tensor<2x4x4x16xbf16>, tensor<2x6x6x16xbf16>, tensor<2x16x4xf32>, tensor<2x4x4x16xbf16>, tensor<2x4x4x16xi8>) {
  %0 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16>
    train.yield %r : tensor<2x4x4x16xbf16>
  }
  %1 = train.fused(%c) : (tensor<2x16x8x8xf32>) -> tensor<2x16x4x4xf32> {
  ^bb0(%x: tensor<2x16x8x8xf32>):
    %r = train.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
        : (tensor<2x16x8x8xf32>) -> tensor<2x16x4x4xf32>
    train.yield %r : tensor<2x16x4x4xf32>
  }
  %2 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x3x3x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 2, 2>,
        pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x3x3x16xbf16>
    train.yield %r : tensor<2x3x3x16xbf16>
  }
  %3 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16>
    train.yield %r : tensor<2x4x4x16xbf16>
  }
  %4 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x6x6x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 2, 2>, pads_high = array<i64: 2, 2>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x6x6x16xbf16>
    train.yield %r : tensor<2x6x6x16xbf16>
  }
  %5 = train.fused(%l) : (tensor<2x16x8xf32>) -> tensor<2x16x4xf32> {
  ^bb0(%x: tensor<2x16x8xf32>):
    %r = train.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>,
        pads_low = array<i64: 0>, pads_high = array<i64: 0>}
        : (tensor<2x16x8xf32>) -> tensor<2x16x4xf32>
    train.yield %r : tensor<2x16x4xf32>
  }
  %6:2 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> (tensor<2x4x4x16xbf16>, tensor<2x4x4x16xi8>) {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r, %p = train.max_pool_places %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> (tensor<2x4x4x16xbf16>, tensor<2x4x4x16xi8>)
    train.yield %r, %p : tensor<2x4x4x16xbf16>, tensor<2x4x4x16xi8>
  }
  return %0, %1, %2, %3, %4, %5, %6#0, %6#1 : tensor<2x4x4x16xbf16>, tensor<2x16x4x4xf32>, tensor<2x3x3x16xbf16>, tensor<2x4x4x16xbf16>, tensor<2x6x6x16xbf16>, tensor<2x16x4xf32>, tensor<2x4x4x16xbf16>, tensor<2x4x4x16xi8>
}

// Tests that averages and their gradients do, also if padded on one side.
// CHECK-LABEL: func.func @averages
// CHECK-COUNT-4: library = "cudnn.pooling"
// CHECK-NOT: library
// POOLING-LABEL: func.func @averages
// POOLING-NOT: library
func.func @averages(%i: tensor<2x8x8x16xbf16>, %g: tensor<2x16x4x4xf32>, %l: tensor<2x4x4x16xbf16>)
    -> (tensor<2x4x4x16xbf16>, tensor<2x16x8x8xf32>, tensor<2x4x4x16xbf16>, tensor<2x8x8x16xbf16>) {
  %0 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.average_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16>
    train.yield %r : tensor<2x4x4x16xbf16>
  }
  %1 = train.fused(%g) : (tensor<2x16x4x4xf32>) -> tensor<2x16x8x8xf32> {
  ^bb0(%x: tensor<2x16x4x4xf32>):
    %r = train.average_pool_grad %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, count_include_pad}
        : (tensor<2x16x4x4xf32>) -> tensor<2x16x8x8xf32>
    train.yield %r : tensor<2x16x8x8xf32>
  }
  %2 = train.fused(%i) : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16> {
  ^bb0(%x: tensor<2x8x8x16xbf16>):
    %r = train.average_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x8x8x16xbf16>) -> tensor<2x4x4x16xbf16>
    train.yield %r : tensor<2x4x4x16xbf16>
  }
  %3 = train.fused(%l) : (tensor<2x4x4x16xbf16>) -> tensor<2x8x8x16xbf16> {
  ^bb0(%x: tensor<2x4x4x16xbf16>):
    %r = train.average_pool_grad %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 1, 1>, channels_last}
        : (tensor<2x4x4x16xbf16>) -> tensor<2x8x8x16xbf16>
    train.yield %r : tensor<2x8x8x16xbf16>
  }
  return %0, %1, %2, %3 : tensor<2x4x4x16xbf16>, tensor<2x16x8x8xf32>, tensor<2x4x4x16xbf16>, tensor<2x8x8x16xbf16>
}
