// RUN: zc-opt %s --zc-approximate-math | FileCheck %s

// Tests that float32 functions become polynomials and float64 ones stay calls.
// CHECK-LABEL: func.func @functions
// CHECK-NOT: math.exp %{{.*}} : f32
// CHECK-NOT: math.tanh %{{.*}} : f32
// CHECK-NOT: math.erf %{{.*}} : f32
// CHECK: math.exp %{{.*}} : f64
func.func @functions(%x: f32, %y: f64) -> (f32, f32, f32, f64) {
  %0 = math.exp %x : f32
  %1 = math.tanh %x : f32
  %2 = math.erf %x : f32
  %3 = math.exp %y : f64
  return %0, %1, %2, %3 : f32, f32, f32, f64
}

// Tests that bfloat16 is rounded to by integers, not by a call.
// CHECK-LABEL: func.func @rounding
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : i32 to i16
func.func @rounding(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
