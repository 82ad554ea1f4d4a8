// RUN: zc-opt %s --zc-repeat-cheap-ops | FileCheck %s
// RUN: zc-opt %s --zc-repeat-cheap-ops --zc-form-regions | FileCheck %s --check-prefix=REGIONS

!t = tensor<1024x1024xbf16>
!w = tensor<1024x1024xf32>

// Tests that what is made of one product is computed again by all that read it,
// step by step, and what is made of two values is not; that regions do so.
// CHECK-LABEL: func.func @gated
// CHECK: train.sigmoid %{{.*}} {train.repeated}
// CHECK: %[[A:.*]] = train.mul %{{.*}} {train.repeated}
// CHECK: train.mul %[[A]], %{{[a-z0-9]+}} : (
// CHECK: train.mul %{{.*}}, %[[A]] : (
// REGIONS-LABEL: func.func @gated
// REGIONS: %[[G:.*]] = train.fused(%arg0, %arg1)
// REGIONS: train.fused(%[[G]], %arg2)
// REGIONS-NEXT: ^bb0
// REGIONS-NEXT: %[[S:.*]] = train.sigmoid %{{[^ ]*}} :
// REGIONS-NEXT: %[[B:.*]] = train.mul %{{.*}}, %[[S]] : {{.*}}
// REGIONS-NEXT: train.mul %[[B]]
// REGIONS-NEXT: train.yield %{{[0-9]+}} : tensor
// REGIONS: train.matmul
// REGIONS: train.fused(%[[D:[0-9]+]], %[[G]])
// REGIONS-NEXT: ^bb0
// REGIONS-NEXT: train.sigmoid
// REGIONS-NEXT: train.mul
// REGIONS-NEXT: train.mul
func.func @gated(%x: !t, %w: !t, %up: !t) -> (!t, !t, !t) {
  %g = train.matmul %x, %w : (!t, !t) -> !t
  %s = train.sigmoid %g : (!t) -> !t
  %a = train.mul %g, %s : (!t, !t) -> !t
  %h = train.mul %a, %up : (!t, !t) -> !t
  %d = train.matmul %h, %w : (!t, !t) -> !t
  %1 = train.mul %d, %a : (!t, !t) -> !t
  %2 = train.matmul %1, %w : (!t, !t) -> !t
  %3 = train.mul %2, %s : (!t, !t) -> !t
  return %d, %2, %3 : !t, !t, !t
}

// Tests that a bias which may be an epilogue, what something else than loops
// reads, what only one op reads, and small values stay as they are.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: train.repeated
func.func @kept(%x: !t, %w: !t, %b: tensor<1024xbf16>, %few: tensor<64xbf16>) -> (!t, !t, !t, tensor<64xbf16>) {
  %p = train.matmul %x, %w : (!t, !t) -> !t
  %spread = train.broadcast %b {dims = array<i64: 1>} : (tensor<1024xbf16>) -> !t
  %z = train.add %p, %spread : (!t, !t) -> !t
  %1 = train.gelu %z : (!t) -> !t
  %2 = train.sigmoid %z : (!t) -> !t
  %3 = train.tanh %x : (!t) -> !t
  %4 = train.matmul %3, %w : (!t, !t) -> !t
  %5 = train.mul %3, %4 : (!t, !t) -> !t
  %6 = train.add %1, %2 : (!t, !t) -> !t
  %7 = train.exp %few : (tensor<64xbf16>) -> tensor<64xbf16>
  %8 = train.mul %7, %7 : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  return %4, %5, %6, %8 : !t, !t, !t, tensor<64xbf16>
}

// Tests that a norm's rows are made again of the image, whose 16 bits cross the
// reshapes, so that 32 are never in memory.
// CHECK-LABEL: func.func @norm
// CHECK: %[[X:.*]] = train.reshape %arg0 : (tensor<1024x1024xbf16>) -> tensor<32x32x1024xbf16>
// CHECK: %[[WIDE:.*]] = train.convert %[[X]]
// CHECK: %[[N:.*]] = train.mul %[[WIDE]], %{{.*}} {train.repeated}
// CHECK: %[[Y:.*]] = train.add %[[N]], %[[N]]
// CHECK: %[[C:.*]] = train.convert %[[Y]] {rounds_result} : (tensor<32x32x1024xf32>) -> tensor<32x32x1024xbf16>
// CHECK: train.reshape %[[C]] : (tensor<32x32x1024xbf16>) -> tensor<1024x1024xbf16>
func.func @norm(%x: !t, %r: tensor<32x32x1xf32>, %w: !t) -> (!t, tensor<1024xf32>) {
  %wide = train.convert %x : (!t) -> !w
  %rows = train.reshape %wide : (!w) -> tensor<32x32x1024xf32>
  %spread = train.broadcast %r {dims = array<i64: 0, 1, 2>} : (tensor<32x32x1xf32>) -> tensor<32x32x1024xf32>
  %n = train.mul %rows, %spread : (tensor<32x32x1024xf32>, tensor<32x32x1024xf32>) -> tensor<32x32x1024xf32>
  %y = train.add %n, %n : (tensor<32x32x1024xf32>, tensor<32x32x1024xf32>) -> tensor<32x32x1024xf32>
  %flat = train.reshape %y : (tensor<32x32x1024xf32>) -> !w
  %c = train.convert %flat {rounds_result} : (!w) -> !t
  %p = train.matmul %c, %w : (!t, !t) -> !t
  %g = train.reshape %p : (!t) -> tensor<32x32x1024xbf16>
  %gw = train.convert %g : (tensor<32x32x1024xbf16>) -> tensor<32x32x1024xf32>
  %t = train.mul %gw, %n : (tensor<32x32x1024xf32>, tensor<32x32x1024xf32>) -> tensor<32x32x1024xf32>
  %sum = train.reduce "sum" %t {dims = array<i64: 0, 1>} : (tensor<32x32x1024xf32>) -> tensor<1024xf32>
  return %p, %sum : !t, tensor<1024xf32>
}

// Tests that so are those of a sum of branches, whose rows are added up before
// they are read again.
// CHECK-LABEL: func.func @norm_of_branches
// CHECK: %[[S:.*]] = train.add %arg0, %arg1
// CHECK-NOT: train.repeated
// CHECK: %[[WIDE:.*]] = train.convert %[[S]]
// CHECK: train.mul %[[WIDE]], %[[WIDE]] : (
// CHECK: %[[N:.*]] = train.mul %[[WIDE]], %{{.*}} {train.repeated}
// REGIONS-LABEL: func.func @norm_of_branches
// REGIONS: %[[S:.*]] = train.fused(%arg0, %arg1)
// REGIONS: %[[C:.*]] = train.fused(%[[S]], %{{.*}}) {{.*}}-> tensor<1024x1024xbf16>
// REGIONS: train.matmul
// REGIONS: train.fused(%{{.*}}, %[[S]]{{.*}} -> tensor<1024xf32>
func.func @norm_of_branches(%x: !t, %branch: !t, %w: !t) -> (!t, tensor<1024xf32>) {
  %s = train.add %x, %branch : (!t, !t) -> !t
  %wide = train.convert %s : (!t) -> !w
  %square = train.mul %wide, %wide : (!w, !w) -> !w
  %sum = train.reduce "sum" %square {dims = array<i64: 1>} : (!w) -> tensor<1024xf32>
  %r = train.rsqrt %sum : (tensor<1024xf32>) -> tensor<1024xf32>
  %spread = train.broadcast %r {dims = array<i64: 0>} : (tensor<1024xf32>) -> !w
  %n = train.mul %wide, %spread : (!w, !w) -> !w
  %c = train.convert %n {rounds_result} : (!w) -> !t
  %p = train.matmul %c, %w : (!t, !t) -> !t
  %g = train.convert %p : (!t) -> !w
  %t = train.mul %g, %n : (!w, !w) -> !w
  %gradient = train.reduce "sum" %t {dims = array<i64: 0>} : (!w) -> tensor<1024xf32>
  return %p, %gradient : !t, tensor<1024xf32>
}
