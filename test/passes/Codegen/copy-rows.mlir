// RUN: zc-opt %s --zc-copy-rows | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

// Tests that elements that lie side by side in both buffers are copied at once,
// here into a part of a larger tensor.
// CHECK-LABEL: func.func @side_by_side
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<1x512xf32> to memref<1x512xf32, strided<[1024, 1], offset: 512>>
// CHECK-NOT: linalg
func.func @side_by_side(%x: memref<1x512xf32>, %y: memref<1x1024xf32>) {
  %part = memref.subview %y[0, 512] [1, 512] [1, 1] : memref<1x1024xf32> to memref<1x512xf32, strided<[1024, 1], offset: 512>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<1x512xf32>) outs(%part : memref<1x512xf32, strided<[1024, 1], offset: 512>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Tests that rows with gaps between them are copied each.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[I:.*]] = %c0 to %c2 step %c1
// CHECK: %[[FROM:.*]] = memref.subview %{{.*}}[%[[I]], 0] [1, 512] [1, 1]
// CHECK: %[[TO:.*]] = memref.subview %{{.*}}[%[[I]], 0] [1, 512] [1, 1]
// CHECK: memref.copy %[[FROM]], %[[TO]]
func.func @rows(%x: memref<2x512xf32>, %y: memref<2x1024xf32>) {
  %part = memref.subview %y[0, 512] [2, 512] [1, 1] : memref<2x1024xf32> to memref<2x512xf32, strided<[1024, 1], offset: 512>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x512xf32>) outs(%part : memref<2x512xf32, strided<[1024, 1], offset: 512>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// Tests that short rows, transposes, other types, arithmetic, copies within one
// buffer and numbers stay loops.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.copy
// CHECK-COUNT-5: linalg.generic
// CHECK: linalg.fill
// CHECK-NOT: memref.copy
func.func @others(%x: memref<2x512xf32>, %y: memref<2x64xf32>, %z: memref<512x2xf32>, %h: memref<2x512xf64>, %n: f32, %one: memref<f32>) {
  %from = memref.subview %x[0, 0] [2, 32] [1, 1] : memref<2x512xf32> to memref<2x32xf32, strided<[512, 1]>>
  %part = memref.subview %y[0, 32] [2, 32] [1, 1] : memref<2x64xf32> to memref<2x32xf32, strided<[64, 1], offset: 32>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%from : memref<2x32xf32, strided<[512, 1]>>) outs(%part : memref<2x32xf32, strided<[64, 1], offset: 32>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x512xf32>) outs(%z : memref<512x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x512xf32>) outs(%h : memref<2x512xf64>) {
  ^bb0(%in: f32, %out: f64):
    %wide = arith.extf %in : f32 to f64
    linalg.yield %wide : f64
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x512xf32>) outs(%x : memref<2x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %twice = arith.addf %in, %in : f32
    linalg.yield %twice : f32
  }
  %first = memref.subview %x[0, 0] [1, 256] [1, 1] : memref<2x512xf32> to memref<1x256xf32, strided<[512, 1]>>
  %second = memref.subview %x[0, 256] [1, 256] [1, 1] : memref<2x512xf32> to memref<1x256xf32, strided<[512, 1], offset: 256>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%first : memref<1x256xf32, strided<[512, 1]>>) outs(%second : memref<1x256xf32, strided<[512, 1], offset: 256>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.fill ins(%n : f32) outs(%one : memref<f32>)
  return
}
