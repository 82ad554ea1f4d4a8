// RUN: zc-opt %s --split-input-file --zc-annotate-target=device=cuda --zc-repeat-cheap-ops --zc-form-regions | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-form-regions | FileCheck %s --check-prefix=CPU

// Tests that a rotary embedding is one region on GPUs, with its transposes: its
// slices and its concat are reads at other places. On CPUs they are copies.
// CHECK-LABEL: func.func @rotary
// CHECK: %[[Y:.*]] = train.fused(%arg0, %arg1, %arg2)
// CHECK-DAG: train.slice %{{.*}} {in_loops, offsets = array<i64: 0, 0, 0, 32>, strides = array<i64: 1, 1, 1, 1>}
// CHECK-DAG: train.slice %{{.*}} {in_loops, offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}
// CHECK: train.concat %{{.*}} {dim = 3 : i64, in_loops}
// CHECK: train.add
// CHECK-NOT: train.fused
// CHECK: return %[[Y]]
// CPU-LABEL: func.func @rotary
// CPU-COUNT-3: train.fused
func.func @rotary(%x: tensor<2x8x4x64xf32>, %c: tensor<8x64xf32>, %s: tensor<8x64xf32>) -> tensor<2x4x8x64xf32> {
  %t = train.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x64xf32>) -> tensor<2x4x8x64xf32>
  %low = train.slice %x {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x8x4x64xf32>) -> tensor<2x8x4x32xf32>
  %high = train.slice %x {offsets = array<i64: 0, 0, 0, 32>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x8x4x64xf32>) -> tensor<2x8x4x32xf32>
  %low_t = train.transpose %low {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x32xf32>) -> tensor<2x4x8x32xf32>
  %high_t = train.transpose %high {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x32xf32>) -> tensor<2x4x8x32xf32>
  %neg = train.neg %high_t : (tensor<2x4x8x32xf32>) -> tensor<2x4x8x32xf32>
  %turned = train.concat %neg, %low_t {dim = 3 : i64} : (tensor<2x4x8x32xf32>, tensor<2x4x8x32xf32>) -> tensor<2x4x8x64xf32>
  %cos = train.broadcast %c {dims = array<i64: 2, 3>} : (tensor<8x64xf32>) -> tensor<2x4x8x64xf32>
  %sin = train.broadcast %s {dims = array<i64: 2, 3>} : (tensor<8x64xf32>) -> tensor<2x4x8x64xf32>
  %a = train.mul %t, %cos : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  %b = train.mul %turned, %sin : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  %y = train.add %a, %b : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return %y : tensor<2x4x8x64xf32>
}

// -----

// Tests that parts of other lengths, or others' parts, stay copies.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: in_loops
func.func @parts(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x32xf32>) {
  %a = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x64xf32>) -> tensor<64x16xf32>
  %b = train.slice %x {offsets = array<i64: 0, 16>, strides = array<i64: 1, 1>} : (tensor<64x64xf32>) -> tensor<64x48xf32>
  %c = train.concat %b, %a {dim = 1 : i64} : (tensor<64x48xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %u = train.mul %c, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = train.slice %w {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %e = train.slice %w {offsets = array<i64: 0, 32>, strides = array<i64: 1, 1>} : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %f = train.concat %e, %d {dim = 1 : i64} : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %v = train.mul %f, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %u, %v, %d : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x32xf32>
}
