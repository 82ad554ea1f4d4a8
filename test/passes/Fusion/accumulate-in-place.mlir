// RUN: zc-opt %s --zc-accumulate-in-place | FileCheck %s
// RUN: zc-opt %s --zc-accumulate-in-place=on-host | FileCheck %s --check-prefix=HOST

// Tests that products give the terms alone which the host adds up.
// HOST-LABEL: func.func @sums
// HOST-NOT: train.matmul_add
// HOST-NOT: in_place
// HOST: train.add
// HOST: return

// Tests that a product, also one of 16 bits, starts from the sum.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT: %[[A:.*]] = train.matmul_add %arg0, %arg2, %arg3 {transpose_lhs} : (tensor<4x2xf32>, tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[B:.*]] = train.matmul_add %arg1, %arg4, %arg4 {train.gradients = array<i64: 0>, transpose_rhs}
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @sums(%a: tensor<4x2xf32>, %b: tensor<4x4xf32>, %x: tensor<8x4xbf16>, %y: tensor<8x2xbf16>, %z: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>) {
  %0 = train.matmul %x, %y {transpose_lhs} : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %1 = train.convert %0 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
  %2 = train.add %a, %1 {in_place} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = train.matmul %z, %z {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %4 = train.add %b, %3 {train.gradients = array<i64: 0>, in_place} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %4 : tensor<4x2xf32>, tensor<4x4xf32>
}

// Tests that a product that others read, one that is exchanged first, and a sum
// without the mark stay two ops; the mark goes.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: train.matmul_add
// CHECK-NOT: in_place
func.func @apart(%a: tensor<4x4xf32>, %z: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = train.matmul %z, %z {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = train.add %a, %0 {in_place} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.neg %z : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = train.matmul %2, %z {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %4 = dist.all_reduce %3 {axes = ["dp"], traffic = "gradients"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = train.add %a, %4 {in_place} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = train.matmul %2, %2 {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %7 = train.add %a, %6 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %5, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Tests that a product of 8-bit floats gives what it has added up in float32.
// CHECK-LABEL: func.func @float8
// CHECK-NEXT: %[[P:.*]] = train.scaled_matmul {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: %[[S:.*]] = train.add %arg0, %[[P]] : (tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK-NEXT: return %[[S]]
func.func @float8(%a: tensor<16x16xf32>, %x: tensor<16x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<16x16xf32> {
  %0 = train.scaled_matmul %x, %x, %s, %s : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x16xbf16>
  %1 = train.convert %0 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %2 = train.add %a, %1 {in_place} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// Tests that one whose 16 bits others read too, widened, stays as it is.
// CHECK-LABEL: func.func @float8_read
// CHECK: train.scaled_matmul {{.*}} -> tensor<16x16xbf16>
func.func @float8_read(%a: tensor<16x16xf32>, %x: tensor<16x16xf8E4M3FN>, %s: tensor<f32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = train.scaled_matmul %x, %x, %s, %s : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x16xbf16>
  %1 = train.convert %0 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %2 = train.add %a, %1 {in_place} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}
