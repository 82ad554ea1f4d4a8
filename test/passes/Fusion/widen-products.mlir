// RUN: zc-opt %s --zc-widen-products | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target --zc-widen-products | FileCheck %s --check-prefix=WITHOUT
// RUN: zc-opt %s --zc-annotate-target=features=avx2 --zc-widen-products | FileCheck %s --check-prefix=TILES

// Tests that fp16 is multiplied in float32, between conversions.
// CHECK-LABEL: func.func @half
// CHECK: %[[A:.*]] = train.convert %arg0 {rounds_operand} : (tensor<8x4xf16>) -> tensor<8x4xf32>
// CHECK: %[[B:.*]] = train.convert %arg1 {rounds_operand} : (tensor<4x4xf16>) -> tensor<4x4xf32>
// CHECK: %[[C:.*]] = train.matmul %[[A]], %[[B]] : {{.*}} -> tensor<8x4xf32>
// CHECK: %[[Y:.*]] = train.convert %[[C]] {rounds_result} : (tensor<8x4xf32>) -> tensor<8x4xf16>
// CHECK: return %[[Y]]
func.func @half(%a: tensor<8x4xf16>, %b: tensor<4x4xf16>) -> tensor<8x4xf16> {
  %0 = train.matmul %a, %b : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
  return %0 : tensor<8x4xf16>
}

// Tests that bf16 is multiplied as it is, where the library or tiles can.
// CHECK-LABEL: func.func @brain
// CHECK-NEXT: train.matmul {{.*}} -> tensor<8x4xbf16>
// CHECK-NEXT: return
// WITHOUT-LABEL: func.func @brain
// WITHOUT: train.matmul {{.*}} -> tensor<8x4xf32>
// TILES-LABEL: func.func @brain
// TILES-NEXT: train.matmul {{.*}} -> tensor<8x4xbf16>
// TILES-NEXT: return
func.func @brain(%a: tensor<8x4xbf16>, %b: tensor<4x4xbf16>) -> tensor<8x4xbf16> {
  %0 = train.matmul %a, %b : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// Tests that tiles take two matrices, and add to sums of float32 alone.
// CHECK-LABEL: func.func @matrices
// CHECK-NEXT: train.matmul {{.*}} -> tensor<2x8x4xbf16>
// CHECK-NEXT: train.matmul_add {{.*}} -> tensor<8x4xbf16>
// CHECK-NEXT: train.matmul_add {{.*}} -> tensor<8x4xf32>
// TILES-LABEL: func.func @matrices
// TILES: train.matmul {{.*}} : (tensor<2x8x4xf32>, tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
// TILES: train.matmul_add {{.*}} -> tensor<8x4xf32>
// TILES: train.matmul_add {{.*}} : (tensor<8x4xf32>, tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
func.func @matrices(%a: tensor<2x8x4xbf16>, %b: tensor<2x4x4xbf16>, %c: tensor<8x4xbf16>, %d: tensor<4x4xbf16>, %e: tensor<8x4xf32>) -> (tensor<2x8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xf32>) {
  %0 = train.matmul %a, %b : (tensor<2x8x4xbf16>, tensor<2x4x4xbf16>) -> tensor<2x8x4xbf16>
  %1 = train.matmul_add %c, %c, %d : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %2 = train.matmul_add %e, %c, %d : (tensor<8x4xf32>, tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<2x8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xf32>
}

// Tests that attention is of bf16 where products are, and of float32 elsewhere;
// it keeps its statistic.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: train.attention {{.*}} -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
// CHECK-NEXT: return
// WITHOUT-LABEL: func.func @attention
// WITHOUT: train.attention {{.*}} -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
// WITHOUT: train.convert {{.*}} -> tensor<1x8x2x4xbf16>
// TILES-LABEL: func.func @attention
// TILES-NEXT: train.attention {{.*}} -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
// TILES-NEXT: return
func.func @attention(%q: tensor<1x8x2x4xbf16>) -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>) {
  %0:2 = train.attention %q, %q, %q {causal, scale = 0.5 : f64} : (tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>) -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
  return %0#0, %0#1 : tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>
}

// Tests that tiles do not take a mask: each thread would widen it for each head.
// CHECK-LABEL: func.func @masked_attention
// CHECK-NEXT: train.attention {{.*}} -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
// TILES-LABEL: func.func @masked_attention
// TILES: train.attention {{.*}}tensor<1x1x1x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
func.func @masked_attention(%q: tensor<1x8x2x4xbf16>, %mask: tensor<1x1x1x8xbf16>) -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>) {
  %0:2 = train.attention %q, %q, %q, %mask {scale = 0.5 : f64} : (tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x1x1x8xbf16>) -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
  return %0#0, %0#1 : tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>
}

// Tests that the gradient of a late unit is what is kept: the 16 bits, and not
// what the library computes.
// WITHOUT-LABEL: func.func @kept
// WITHOUT: %[[WIDE:.*]] = train.matmul
// WITHOUT-NOT: train.
// WITHOUT-SAME: -> tensor<8x4xf32>
// WITHOUT: %[[KEPT:.*]] = train.convert %[[WIDE]] {rounds_result, train.gradients = array<i64: 0>, train.kept_gradients = array<i64: 0>}
// WITHOUT: train.concat %[[KEPT]], %[[KEPT]] {{.*}}train.late, train.staging
func.func @kept(%a: tensor<8x4xbf16>, %b: tensor<4x4xbf16>) -> tensor<16x4xbf16> {
  %0 = train.matmul %a, %b {train.gradients = array<i64: 0>, train.kept_gradients = array<i64: 0>} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %1 = train.concat %0, %0 {dim = 0 : i64, train.late, train.staging} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<16x4xbf16>
  return %1 : tensor<16x4xbf16>
}

// Tests that only the 16 bits are sent, and that both ops are late.
// WITHOUT-LABEL: func.func @staged
// WITHOUT: train.matmul %{{.*}}, %{{.*}} {train.late} : {{.*}} -> tensor<8x4xf32>
// WITHOUT: train.convert {{.*}} {rounds_result, train.late, train.staging}
func.func @staged(%a: tensor<8x4xbf16>, %b: tensor<4x4xbf16>) -> tensor<8x4xbf16> {
  %0 = train.matmul %a, %b {train.late, train.staging} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}
