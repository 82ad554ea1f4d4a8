// RUN: zc-opt %s --zc-approximate-math | FileCheck %s
// RUN: zc-opt %s --zc-approximate-math=expand-bfloat16=0 | FileCheck %s --check-prefix=GPU

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

// Tests that the tail of the normal distribution is a call of erfc in float64
// alone, and that float32 angles of any size need no call.
// CHECK-LABEL: func.func @others
// CHECK: math.erfc %{{.*}} : f64
// CHECK-NOT: train.normal_tail
// CHECK-NOT: math.sin
// CHECK-NOT: math.log1p
func.func @others(%x: f32, %y: f64) -> (f64, f32, f32, f32) {
  %0 = train.normal_tail %y, %y : f64
  %1 = train.normal_tail %x, %x : f32
  %2 = math.sin %x : f32
  %3 = math.log1p %x : f32
  return %0, %1, %2, %3 : f64, f32, f32, f32
}

// Tests that bfloat16 is rounded to by integers, not by a call, and that the
// last of them does not select; GPUs do it themselves.
// CHECK-LABEL: func.func @rounding
// CHECK-NOT: arith.truncf
// CHECK: %[[QUIET:.*]] = arith.select
// CHECK: %[[ALL:.*]] = arith.ori %{{.*}}, %[[QUIET]]
// CHECK: arith.trunci %[[ALL]] : i32 to i16
// GPU-LABEL: func.func @rounding
// GPU: arith.truncf %{{.*}} : f32 to bf16
func.func @rounding(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
