// RUN: zc-opt %s --split-input-file --zc-round-float8 --canonicalize --cse | FileCheck %s

// Tests that a product's factors are scaled by their largest magnitude, of rows
// first, and rounded, and that the product has both scales.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<16x32xbf16> {train.input = "x"}, %[[W:.*]]: tensor<32x48xbf16> {train.state = @w.bf16})
// CHECK: %[[ROWS:.*]] = train.amax %[[X]] dims [1] : (tensor<16x32xbf16>) -> tensor<16xf32>
// CHECK: %[[SIZE:.*]] = train.amax %[[ROWS]] dims [0] : (tensor<16xf32>) -> tensor<f32>
// CHECK: %[[X8:.*]] = train.convert {{.*}} : (tensor<16x32xf32>) -> tensor<16x32xf8E4M3FN>
// CHECK: %[[W8:.*]] = train.convert {{.*}} : (tensor<32x48xf32>) -> tensor<32x48xf8E4M3FN>
// CHECK: train.scaled_matmul %[[X8]], %[[W8]], {{.*}} {train.stage = 1 : i64} : {{.*}} -> tensor<16x48xbf16>
train.state @w "parameter" : tensor<32x48xf32>
train.state @w.bf16 "copy" : tensor<32x48xbf16> {parameter = "w"}
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"},
    %w: tensor<32x48xbf16> {train.state = @w.bf16}) -> tensor<16x48xbf16> {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN], train.stage = 1 : i64} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}

// -----

// Tests that values and gradients are rounded once for all products, and a
// weight for the backward again.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<16x32xbf16> {train.input = "x"}, %[[G:[a-z0-9]*]]: tensor<16x48xbf16>
// CHECK: train.amax %[[G]]
// CHECK: train.amax %[[X]]
// CHECK: train.amax %[[W:[a-z0-9]*]] dims [1] : (tensor<32x48xbf16>)
// CHECK: train.scaled_matmul {{.*}} : (tensor<16x32xf8E4M3FN>, tensor<32x48xf8E4M3FN>, {{.*}} -> tensor<16x48xbf16>
// CHECK: train.amax %[[W]] dims [1] {train.float8_again} : (tensor<32x48xbf16>)
// CHECK: train.scaled_matmul {{.*}} {transpose_rhs} : (tensor<16x48xf8E5M2>, tensor<32x48xf8E4M3FN>, {{.*}} -> tensor<16x32xbf16>
// CHECK-NOT: train.amax
// CHECK: train.scaled_matmul {{.*}} {transpose_lhs} : (tensor<16x32xf8E4M3FN>, tensor<16x48xf8E5M2>, {{.*}} -> tensor<32x48xbf16>
train.state @w "parameter" : tensor<32x48xf32>
train.state @w.bf16 "copy" : tensor<32x48xbf16> {parameter = "w"}
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %g: tensor<16x48xbf16> {train.input = "g"},
    %w: tensor<32x48xbf16> {train.state = @w.bf16}) -> (tensor<16x48xbf16>, tensor<16x32xbf16>, tensor<32x48xbf16>) {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  %1 = train.matmul %g, %w {transpose_rhs, float8 = [f8E5M2, f8E4M3FN]} : (tensor<16x48xbf16>, tensor<32x48xbf16>) -> tensor<16x32xbf16>
  %2 = train.matmul %x, %g {transpose_lhs, float8 = [f8E4M3FN, f8E5M2]} : (tensor<16x32xbf16>, tensor<16x48xbf16>) -> tensor<32x48xbf16>
  return %0, %1, %2 : tensor<16x48xbf16>, tensor<16x32xbf16>, tensor<32x48xbf16>
}
