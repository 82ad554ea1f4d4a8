// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-widen-products | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target --zc-widen-products | FileCheck %s --check-prefix=CPU

// Tests that a note names a product of which a rank's part is of other sizes.
// CHECK: module attributes {dist.notes = ["a rank multiplies factors of 8-bit floats as bfloat16 where its parts are no multiples of 16: a product (16 x 32 by 32 x 24)"]
// CPU-NOT: dist.notes

// Tests that a library reads factors along the sum.
// CHECK-LABEL: func.func @whole
// CHECK: %[[B:.*]] = train.transpose %arg1 {{.*}} -> tensor<48x32xf8E4M3FN>
// CHECK: train.scaled_matmul %arg0, %[[B]], %arg2, %arg3 {transpose_rhs}
// CPU-LABEL: func.func @whole
// CPU: train.convert %arg0 : (tensor<16x32xf8E4M3FN>) -> tensor<16x32xbf16>
// CPU: train.matmul {{.*}} -> tensor<16x48xf32>
func.func @whole(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x48xf8E4M3FN>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<16x48xbf16> {
  %0 = train.scaled_matmul %a, %b, %s, %t : (tensor<16x32xf8E4M3FN>, tensor<32x48xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}

// CHECK-LABEL: func.func @part
// CHECK: train.matmul {{.*}} : (tensor<16x32xbf16>, tensor<32x24xbf16>) -> tensor<16x24xf32>
func.func @part(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x24xf8E4M3FN>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<16x24xbf16> {
  %0 = train.scaled_matmul %a, %b, %s, %t : (tensor<16x32xf8E4M3FN>, tensor<32x24xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x24xbf16>
  return %0 : tensor<16x24xbf16>
}

// Tests that scales of blocks lie as the library has them, squares' rows of a
// multiple of 4; and that elsewhere factors are scaled back to bfloat16.
// CHECK-LABEL: func.func @blocks
// CHECK-DAG: %[[B:.*]] = train.transpose %arg1 {{.*}} -> tensor<128x256xf8E4M3FN>
// CHECK-DAG: %[[S:.*]] = train.transpose %arg2 {{.*}} -> tensor<2x16xf32>
// CHECK-DAG: %[[T:.*]] = train.transpose %arg3 {{.*}} -> tensor<1x2xf32>
// CHECK-DAG: %[[P:.*]] = train.pad %[[T]] {{.*}} -> tensor<1x4xf32>
// CHECK: train.scaled_matmul %arg0, %[[B]], %[[S]], %[[P]] {packed_scales, transpose_rhs}
// CPU-LABEL: func.func @blocks
// CPU: train.convert {{.*}} : (tensor<16x256xf32>) -> tensor<16x256xbf16>
// CPU: train.convert {{.*}} : (tensor<256x128xf32>) -> tensor<256x128xbf16>
// CPU: train.matmul {{.*}} -> tensor<16x128xf32>
func.func @blocks(%a: tensor<16x256xf8E4M3FN>, %b: tensor<256x128xf8E4M3FN>, %s: tensor<16x2xf32>, %t: tensor<2x1xf32>) -> tensor<16x128xbf16> {
  %0 = train.scaled_matmul %a, %b, %s, %t : (tensor<16x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<16x2xf32>, tensor<2x1xf32>) -> tensor<16x128xbf16>
  return %0 : tensor<16x128xbf16>
}

// Tests that of a weight's gradient, whose scales lie along the sum already, only
// the factors move.
// CHECK-LABEL: func.func @gradient
// CHECK-NOT: xf32>) -> tensor<1x{{.*}}xf32>
// CHECK: train.scaled_matmul {{.*}}, {{.*}}, %arg2, %arg3 {packed_scales, transpose_rhs}
func.func @gradient(%a: tensor<128x32xf8E4M3FN>, %b: tensor<128x48xf8E4M3FN>, %s: tensor<1x32xf32>, %t: tensor<1x48xf32>) -> tensor<32x48xf32> {
  %0 = train.scaled_matmul %a, %b, %s, %t {transpose_lhs} : (tensor<128x32xf8E4M3FN>, tensor<128x48xf8E4M3FN>, tensor<1x32xf32>, tensor<1x48xf32>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
