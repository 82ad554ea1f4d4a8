// RUN: zc-opt %s --zc-lower-device-math | FileCheck %s

// Tests that what PTX has instructions for becomes intrinsics, by type, and
// that what it has none for is left to libdevice.
// CHECK-LABEL: func.func @functions
// CHECK: llvm.call_intrinsic "llvm.sqrt.f32"(%{{.*}}) : (f32) -> f32
// CHECK: llvm.call_intrinsic "llvm.fabs.f64"
// CHECK: llvm.call_intrinsic "llvm.floor.bf16"
// CHECK: math.powf
func.func @functions(%x: f32, %y: f64, %z: bf16) -> (f32, f64, bf16, f32) {
  %0 = math.sqrt %x : f32
  %1 = math.absf %y : f64
  %2 = math.floor %z : bf16
  %3 = math.powf %x, %x : f32
  return %0, %1, %2, %3 : f32, f64, bf16, f32
}
