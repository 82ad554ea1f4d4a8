// RUN: zc-opt %s --zc-annotate-target=threads=2 --zc-select-library-calls | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target="threads=2 libraries=-zc.winograd" --zc-select-library-calls | FileCheck %s --check-prefix=WITHOUT
// RUN: zc-opt %s --zc-annotate-target="threads=2 libraries=-onednn.convolution" --zc-select-library-calls | FileCheck %s --check-prefix=WITHOUT

// Tests that convolutions of 3x3 taps in steps of one, and their gradients, may
// be computed by Winograd's way, unless the target leaves it out; others may
// not.

// WITHOUT-NOT: , winograd}

!image = tensor<8x14x14x64xf32>
!filter = tensor<64x64x3x3xf32>

// CHECK-LABEL: func.func @convolutions
// CHECK: train.conv {{.*}}, winograd}
// CHECK: train.conv_input_grad {{.*}}, winograd}
// CHECK: train.conv_filter_grad {{.*}}, winograd}
func.func @convolutions(%i: !image, %f: !filter) -> (!image, !image, !filter) {
  %0 = train.fused(%i, %f) : (!image, !filter) -> !image {
  ^bb0(%x: !image, %y: !filter):
    %3 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
        pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (!image, !filter) -> !image
    train.yield %3 : !image
  }
  %1 = train.fused(%i, %f) : (!image, !filter) -> !image {
  ^bb0(%x: !image, %y: !filter):
    %3 = train.conv_input_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last}
        : (!image, !filter) -> !image
    train.yield %3 : !image
  }
  %2 = train.fused(%i, %i) : (!image, !image) -> !filter {
  ^bb0(%x: !image, %y: !image):
    %3 = train.conv_filter_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last}
        : (!image, !image) -> !filter
    train.yield %3 : !filter
  }
  return %0, %1, %2 : !image, !image, !filter
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: winograd
func.func @others(%i: !image, %f: !filter, %p: tensor<64x64x1x1xf32>, %d: tensor<8x14x14x64xf64>,
    %g: tensor<64x64x3x3xf64>) -> (tensor<8x7x7x64xf32>, !image, tensor<8x14x14x64xf64>) {
  %0 = train.fused(%i, %f) : (!image, !filter) -> tensor<8x7x7x64xf32> {
  ^bb0(%x: !image, %y: !filter):
    %3 = train.conv %x, %y {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
        pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (!image, !filter) -> tensor<8x7x7x64xf32>
    train.yield %3 : tensor<8x7x7x64xf32>
  }
  %1 = train.fused(%i, %p) : (!image, tensor<64x64x1x1xf32>) -> !image {
  ^bb0(%x: !image, %y: tensor<64x64x1x1xf32>):
    %3 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
        pads_high = array<i64: 0, 0>, groups = 1 : i64, channels_last} : (!image, tensor<64x64x1x1xf32>) -> !image
    train.yield %3 : !image
  }
  %2 = train.fused(%d, %g) : (tensor<8x14x14x64xf64>, tensor<64x64x3x3xf64>) -> tensor<8x14x14x64xf64> {
  ^bb0(%x: tensor<8x14x14x64xf64>, %y: tensor<64x64x3x3xf64>):
    %3 = train.conv %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
        pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last}
        : (tensor<8x14x14x64xf64>, tensor<64x64x3x3xf64>) -> tensor<8x14x14x64xf64>
    train.yield %3 : tensor<8x14x14x64xf64>
  }
  return %0, %1, %2 : tensor<8x7x7x64xf32>, !image, tensor<8x14x14x64xf64>
}
