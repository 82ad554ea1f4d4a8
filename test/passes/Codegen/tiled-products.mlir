// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-cuda-codegen-pipeline | FileCheck %s --check-prefix=NVVM

// Tests that a product of 16 bits has teams for 512 / 128 + 4 + 1 tiles of rows,
// times 2 of columns, which find their rows in memory, and multiplies in tensor
// cores.
// CHECK-LABEL: func.func @narrow(%arg0: memref<512x32xi32>, %arg1: memref<4x64x80xi32>,
// CHECK-SAME: sched.own_threads
// CHECK-SAME: sched.signature = array<i64: 18, 256,
// CHECK: scf.for
// CHECK: memref.load %arg5
// CHECK: memref.load %arg4
// CHECK: nvvm.ldmatrix
// CHECK: memref.store %{{.*}}, %arg6
// NVVM-LABEL: llvm.func @narrow(
// NVVM: nvvm.ldmatrix
// NVVM: nvvm.mma.sync
sched.kernel @narrow {
^bb0(%x: tensor<512x64xbf16>, %w: tensor<4x64x160xbf16>, %groups: tensor<512xi64>, %ids: tensor<4xi64>, %order: tensor<512xi32>, %ends: tensor<4xi32>):
  %0 = train.grouped_matmul %x, %w, %groups, %ids, %order, %ends {experts = 4 : i64} : (tensor<512x64xbf16>, tensor<4x64x160xbf16>, tensor<512xi64>, tensor<4xi64>, tensor<512xi32>, tensor<4xi32>) -> tensor<512x160xbf16>
  train.yield %0 : tensor<512x160xbf16>
}

// Tests that a gradient has a team for each tile of each expert's matrix, and
// that float32 is multiplied element by element.
// CHECK-LABEL: func.func @wide(
// CHECK-SAME: sched.own_threads
// CHECK-SAME: sched.signature = array<i64: 8, 128,
// NVVM-LABEL: llvm.func @wide(
// NVVM-NOT: nvvm.mma.sync
// NVVM: llvm.fma.f32
sched.kernel @wide {
^bb0(%x: tensor<512x64xf32>, %g: tensor<512x160xf32>, %groups: tensor<512xi64>, %ids: tensor<4xi64>, %order: tensor<512xi32>, %ends: tensor<4xi32>):
  %0 = train.grouped_matmul_grad %x, %g, %groups, %ids, %order, %ends {experts = 4 : i64} : (tensor<512x64xf32>, tensor<512x160xf32>, tensor<512xi64>, tensor<4xi64>, tensor<512xi32>, tensor<4xi32>) -> tensor<4x64x160xf32>
  train.yield %0 : tensor<4x64x160xf32>
}

// Tests a team for each expert's rows, and one for those of none.
// CHECK-LABEL: func.func @order(
// CHECK-SAME: sched.signature = array<i64: 5, 256,
sched.kernel @order {
^bb0(%groups: tensor<512xi64>, %ids: tensor<4xi64>, %ends: tensor<4xi32>):
  %0 = train.expert_order %groups, %ids, %ends : (tensor<512xi64>, tensor<4xi64>, tensor<4xi32>) -> tensor<512xi32>
  train.yield %0 : tensor<512xi32>
}
