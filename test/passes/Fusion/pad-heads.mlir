// RUN: zc-opt %s --zc-pad-heads | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=libraries=none --zc-pad-heads | FileCheck %s --check-prefix=NONE
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-pad-heads | FileCheck %s --check-prefix=CUDA

// Tests that zeros make values as wide as keys for a library, in the forward
// and for the gradients, and that masks stay.
// CHECK-LABEL: func.func @attention
// CHECK: %[[V:.*]] = train.pad %arg1 {{.*}} : (tensor<2x4x3x6xf32>) -> tensor<2x4x3x8xf32>
// CHECK: %[[WIDE:.*]], %[[SUMS:.*]] = train.attention %arg0, %arg0, %[[V]], %arg2 {{.*}} -> (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>)
// CHECK: %[[OUT:.*]] = train.slice %[[WIDE]] {{.*}} -> tensor<2x4x3x6xf32>
// CHECK: %[[V2:.*]] = train.pad %arg1
// CHECK: %[[R:.*]] = train.pad %[[OUT]]
// CHECK: %[[G:.*]] = train.pad %[[OUT]]
// CHECK: %[[QG:.*]], %[[KG:.*]], %[[VG:.*]] = train.attention_grad %arg0, %arg0, %[[V2]], %[[R]], %[[SUMS]], %[[G]], %arg2
// CHECK: %[[CUT:.*]] = train.slice %[[VG]] {{.*}} -> tensor<2x4x3x6xf32>
// CHECK: return %[[QG]], %[[KG]], %[[CUT]]
// NONE-LABEL: func.func @attention
// NONE-NOT: train.pad
func.func @attention(%q: tensor<2x4x3x8xf32>, %v: tensor<2x4x3x6xf32>, %mask: tensor<1x1x4x4xf32>)
    -> (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x6xf32>) {
  %result, %sums = train.attention %q, %q, %v, %mask {scale = 1.0 : f64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x6xf32>, tensor<1x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  %grads:3 = train.attention_grad %q, %q, %v, %result, %sums, %result, %mask {scale = 1.0 : f64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x3x4xf32>, tensor<2x4x3x6xf32>, tensor<1x1x4x4xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x6xf32>)
  return %grads#0, %grads#1, %grads#2 : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x6xf32>
}

// Tests that keys grow where values are wider.
// CHECK-LABEL: func.func @wide_values
// CHECK-COUNT-2: train.pad
// CHECK: train.attention {{.*}} -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
// CHECK-NEXT: return
func.func @wide_values(%q: tensor<2x4x3x2xf32>, %v: tensor<2x4x3x6xf32>) -> tensor<2x4x3x6xf32> {
  %result, %sums = train.attention %q, %q, %v {causal, scale = 1.0 : f64} : (tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x6xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// Tests that nothing is padded for a library which refuses heads as wide as the
// padded ones: cuDNN's have at most 128 elements, in steps of 8. Heads that suit
// it only with zeros are padded.
// CUDA-LABEL: func.func @too_wide
// CUDA-NOT: train.pad
// CUDA: return
func.func @too_wide(%q: tensor<2x128x3x128xbf16>, %v: tensor<2x128x3x136xbf16>) -> tensor<2x128x3x136xbf16> {
  %result, %sums = train.attention %q, %q, %v {causal, scale = 1.0 : f64} : (tensor<2x128x3x128xbf16>, tensor<2x128x3x128xbf16>, tensor<2x128x3x136xbf16>) -> (tensor<2x128x3x136xbf16>, tensor<2x3x128xf32>)
  return %result : tensor<2x128x3x136xbf16>
}

// CUDA-LABEL: func.func @uneven
// CUDA-NOT: train.pad
// CUDA: return
func.func @uneven(%q: tensor<2x128x3x64xbf16>, %v: tensor<2x128x3x68xbf16>) -> tensor<2x128x3x68xbf16> {
  %result, %sums = train.attention %q, %q, %v {causal, scale = 1.0 : f64} : (tensor<2x128x3x64xbf16>, tensor<2x128x3x64xbf16>, tensor<2x128x3x68xbf16>) -> (tensor<2x128x3x68xbf16>, tensor<2x3x128xf32>)
  return %result : tensor<2x128x3x68xbf16>
}

// CUDA-LABEL: func.func @suits_padded
// CUDA-COUNT-2: train.pad
// CUDA: train.attention {{.*}} -> (tensor<2x128x3x72xbf16>
// CUDA: return
func.func @suits_padded(%q: tensor<2x128x3x68xbf16>, %v: tensor<2x128x3x72xbf16>) -> tensor<2x128x3x72xbf16> {
  %result, %sums = train.attention %q, %q, %v {causal, scale = 1.0 : f64} : (tensor<2x128x3x68xbf16>, tensor<2x128x3x68xbf16>, tensor<2x128x3x72xbf16>) -> (tensor<2x128x3x72xbf16>, tensor<2x3x128xf32>)
  return %result : tensor<2x128x3x72xbf16>
}
