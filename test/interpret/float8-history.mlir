// Histories of largest magnitudes (--fp8-scaling delayed).
// RUN: zc-opt %s --zc-round-float8="scaling=delayed history=2" | zc-interpret - --program step --random 1 | FileCheck %s

// Tests that neither an infinite magnitude nor NaN gets into a history, where it
// would spoil the scales of as many steps: only @w's, of finite numbers, grows.
// CHECK-NOT: inf
// CHECK-NOT: nan
train.state @w "parameter" : tensor<2x2xf32>
train.state @v "parameter" : tensor<2x2xf32>
func.func @step(%w: tensor<2x2xf32> {train.state = @w}, %v: tensor<2x2xf32> {train.state = @v}) -> tensor<2x2xf32> {
  %x = train.constant dense<[[1.0, 0xFF800000], [2.0, 3.0]]> : tensor<2x2xf32>
  %y = train.constant dense<0x7FC00000> : tensor<2x2xf32>
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = train.matmul %y, %v {float8 = [f8E4M3FN, f8E4M3FN, "v"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %w : tensor<2x2xf32>
}
