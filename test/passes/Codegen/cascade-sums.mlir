// RUN: zc-opt %s --split-input-file --zc-cascade-sums | FileCheck %s

// Tests that a sum over many rows is one of short sums, with a rest, and that
// what was there is counted once.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: memref<300x64xf32>, %[[SUM:.*]]: memref<64xf32>
// CHECK-DAG: %[[SHORT:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK-DAG: %[[TOTAL:.*]] = memref.alloca() {{.*}} : memref<64xf64>
// CHECK: linalg.fill {{.*}} outs(%[[TOTAL]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c256 step %c128
// CHECK: %[[PART:.*]] = memref.subview %[[X]][%[[I]], 0] [128, 64] [1, 1]
// CHECK: linalg.fill {{.*}} outs(%[[SHORT]]
// CHECK: linalg.generic {{.*}} ins(%[[PART]] {{.*}} outs(%[[SHORT]]
// CHECK: linalg.generic {{.*}} ins(%[[SHORT]] {{.*}} outs(%[[TOTAL]]
// CHECK: arith.extf
// CHECK-NEXT: arith.addf {{.*}} : f64
// CHECK: memref.subview %[[X]][256, 0] [44, 64] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[TOTAL]] {{.*}} outs(%[[SUM]]
// CHECK: arith.truncf
func.func @rows(%x: memref<300x64xf32>, %sum: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<300x64xf32>) outs(%sum : memref<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Tests a channel at a time over images, two sums of it at once: two images are
// a short sum, since an innermost loop adds up side by side.
// CHECK-LABEL: func.func @channels
// CHECK: scf.for %[[C:.*]] =
// CHECK: scf.for %[[N:.*]] =
// CHECK: %[[IMAGES:.*]] = memref.subview %{{.*}}[%[[N]], 0, 0, 0] [2, 4, 64, 64] [1, 1, 1, 1]
// CHECK: memref.subview %[[IMAGES]][0, %[[C]], 0, 0] [2, 1, 64, 64] [1, 1, 1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "reduction"]
// CHECK: %[[NEW:.*]] = arith.addf
// CHECK: linalg.yield
func.func @channels(%x: memref<80x4x64x64xf32>, %sum: memref<4xf32>, %square: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(c, n, h, w) -> (n, c, h, w)>, affine_map<(c, n, h, w) -> (c)>, affine_map<(c, n, h, w) -> (c)>],
                  iterator_types = ["parallel", "reduction", "reduction", "reduction"]}
      ins(%x : memref<80x4x64x64xf32>) outs(%sum, %square : memref<4xf32>, memref<4xf32>) {
  ^bb0(%a: f32, %s: f32, %q: f32):
    %0 = arith.addf %s, %a : f32
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %1, %q : f32
    linalg.yield %0, %2 : f32, f32
  }
  return
}

// -----

// Tests what stays: a short sum, a maximum, a sum in float64.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
// CHECK: return
func.func @others(%x: memref<1000x768xf32>, %row: memref<1000xf32>, %max: memref<768xf32>,
                  %y: memref<1000xf64>, %sum: memref<f64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<1000x768xf32>) outs(%row : memref<1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<1000x768xf32>) outs(%max : memref<768xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.maximumf %s, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                  iterator_types = ["reduction"]}
      ins(%y : memref<1000xf64>) outs(%sum : memref<f64>) {
  ^bb0(%a: f64, %s: f64):
    %0 = arith.addf %s, %a : f64
    linalg.yield %0 : f64
  }
  return
}
