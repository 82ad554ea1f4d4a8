// RUN: zc-opt %s --zc-lower-device-math | FileCheck %s

// Tests that what PTX has instructions for becomes intrinsics, by type, that
// powers and float64's exp and log become arithmetic, and that what is left is
// libdevice's.
// CHECK-LABEL: func.func @functions
// CHECK: llvm.call_intrinsic "llvm.sqrt.f32"(%{{.*}}) : (f32) -> f32
// CHECK: llvm.call_intrinsic "llvm.fabs.f64"
// CHECK: llvm.call_intrinsic "llvm.floor.bf16"
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: llvm.call_intrinsic "llvm.fma.f64"
// CHECK-NOT: math.powf
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT: math.{{exp|log1p|sinh}}
// CHECK: math.sin %{{.*}} : f64
// CHECK-NOT: math.{{log1p|sinh}}
func.func @functions(%x: f32, %y: f64, %z: bf16) -> (f32, f64, bf16, f32, f64, f64, f64) {
  %0 = math.sqrt %x : f32
  %1 = math.absf %y : f64
  %2 = math.floor %z : bf16
  %3 = math.powf %x, %x : f32
  %4 = math.exp %y : f64
  %5 = math.sin %y : f64
  %6 = math.log1p %y : f64
  %7 = math.sinh %6 : f64
  return %0, %1, %2, %3, %4, %5, %7 : f32, f64, bf16, f32, f64, f64, f64
}
