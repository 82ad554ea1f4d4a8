// RUN: zc-opt %s --zc-round-float8=scaling=block --canonicalize --cse | FileCheck %s

// Tests that values have a scale for 128 elements along each sum, so two forms,
// weights one for squares, and that gradients are of E4M3.
// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[ALONG:.*]] = train.floor_power {{.*}} : (tensor<128x2xf32>) -> tensor<128x2xf32>
// CHECK-DAG: %[[ACROSS:.*]] = train.floor_power {{.*}} : (tensor<1x256xf32>) -> tensor<1x256xf32>
// CHECK-DAG: %[[SQUARES:.*]] = train.floor_power {{.*}} : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK: train.scaled_matmul {{.*}} : (tensor<128x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<128x2xf32>, tensor<2x1xf32>) -> tensor<128x128xbf16>
// CHECK: train.scaled_matmul {{.*}} {transpose_rhs} : (tensor<128x128xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<128x1xf32>, tensor<2x1xf32>) -> tensor<128x256xbf16>
// CHECK: train.scaled_matmul {{.*}} {transpose_lhs} : (tensor<128x256xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<1x256xf32>, tensor<1x128xf32>) -> tensor<256x128xbf16>
train.state @w "parameter" : tensor<256x128xf32>
train.state @w.bf16 "copy" : tensor<256x128xbf16> {parameter = "w"}
func.func @step(%x: tensor<128x256xbf16> {train.input = "x"}, %g: tensor<128x128xbf16> {train.input = "g"},
    %w: tensor<256x128xbf16> {train.state = @w.bf16}) -> (tensor<128x128xbf16>, tensor<128x256xbf16>, tensor<256x128xbf16>) {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<128x256xbf16>, tensor<256x128xbf16>) -> tensor<128x128xbf16>
  %1 = train.matmul %g, %w {transpose_rhs, float8 = [f8E5M2, f8E4M3FN, "w"]} : (tensor<128x128xbf16>, tensor<256x128xbf16>) -> tensor<128x256xbf16>
  %2 = train.matmul %x, %g {transpose_lhs, float8 = [f8E4M3FN, f8E5M2, "w"]} : (tensor<128x256xbf16>, tensor<128x128xbf16>) -> tensor<256x128xbf16>
  return %0, %1, %2 : tensor<128x128xbf16>, tensor<128x256xbf16>, tensor<256x128xbf16>
}
