// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels --zc-distribute-threads | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-cuda-codegen-pipeline | FileCheck %s --check-prefix=NVVM

// Tests that every thread of an elementwise kernel computes 16 bytes, that the
// last team does no more than there is, and that what shares a buffer stays an
// argument without uses.
// CHECK-LABEL: sched.kernel @chain attributes {grid = 30 : i64
// CHECK: gpu.module @zc.kernels
// CHECK: gpu.func @chain([[X:%[a-z0-9]+]]: memref<40x768xf32> {llvm.align = 64 : i64, llvm.noalias}, %{{.*}}: memref<768xf32> {{{.*}}}, %{{.*}}: memref<122880xi8>
// CHECK-SAME: kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// CHECK: %[[LAST:.*]] = arith.minui %{{.*}}, %c7680
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LAST]]
// CHECK: memref.subview [[X]][%{{.*}}, %{{.*}}] [1, 4] [1, 1]
// CHECK-NOT: gpu.barrier
// CHECK: llvm.mlir.global external constant @chain_signature(dense<[30, 256, 3, 122880, 3072, 122880]>
// NVVM: llvm.func @chain(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, {{.*}}nvvm.kernel
sched.kernel @chain attributes {shared = array<i64: 0, 0>} {
^bb0(%x: tensor<40x768xf32>, %b: tensor<768xf32>):
  %0 = train.broadcast %b {dims = array<i64: 1>} : (tensor<768xf32>) -> tensor<40x768xf32>
  %1 = train.add %x, %0 : (tensor<40x768xf32>, tensor<40x768xf32>) -> tensor<40x768xf32>
  train.yield %1 : tensor<40x768xf32>
}

// Tests that a team sums 32 columns: 64 threads four neighbours each, whose sums
// meet in warps, then in shared memory between barriers; that a buffer which
// threads write for one another is not called noalias.
// CHECK: gpu.func @columns(%{{.*}}: memref<1024x768xf32> {llvm.align = 64 : i64, llvm.noalias}, %{{.*}}: memref<768xf32> {llvm.align = 64 : i64})
// CHECK-SAME: workgroup({{.*}}, [[W:%[a-z0-9]+]] : memref<128xf32, 3>)
// CHECK: %[[SUMS:.*]] = memref.memory_space_cast [[W]]
// CHECK: %[[GROUP:.*]] = arith.remui %thread_id_x, %c8
// CHECK: %[[COLUMN:.*]] = arith.muli %[[GROUP]], %c4
// CHECK: %[[NEXT:.*]] = arith.addi %[[COLUMN]], %c1
// CHECK: %[[SUM:.*]]:4 = scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c64
// CHECK: memref.load %[[X:.*]][%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT: memref.load %[[X]][%[[ROW]], %[[NEXT]]]
// CHECK: gpu.shuffle xor %[[SUM]]#0, %c8_i32
// CHECK: %[[PLACE:.*]] = arith.remui %thread_id_x, %c32
// CHECK: arith.cmpi ult, %[[PLACE]], %c8
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: memref.load %[[SUMS]]
// NVVM: llvm.mlir.global internal @{{.*}}columns{{.*}}() {addr_space = 3
sched.kernel @columns {
^bb0(%x: tensor<1024x768xf32>):
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<1024x768xf32>) -> tensor<768xf32>
  train.yield %0 : tensor<768xf32>
}

// Tests that a team has a row of a softmax, reduced by shuffles in warps and
// read again behind barriers.
// CHECK: gpu.func @rows
// CHECK: memref.subview %{{.*}}[%{{.*}}, %{{.*}}, 0] [1, 1, 512]
// CHECK: %[[MAX:.*]] = scf.for
// CHECK: arith.maximumf
// CHECK: gpu.shuffle xor %[[MAX]], %c1_i32
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: llvm.mlir.global external constant @rows_signature(dense<[256, 128, 2, 524288, 524288]>
// NVVM: nvvm.shfl.sync bfly
// NVVM: nvvm.barrier0
sched.kernel @rows {
^bb0(%x: tensor<64x4x512xf32>):
  %0 = train.softmax %x {dim = 2 : i64} : (tensor<64x4x512xf32>) -> tensor<64x4x512xf32>
  train.yield %0 : tensor<64x4x512xf32>
}

// Tests that updates of one table row follow one another, in one warp, and need
// no barrier; that a warp's threads look for its rows among 32 updates at once.
// CHECK: gpu.func @scatter
// CHECK: %[[LANE:.*]] = arith.remui %thread_id_x, %c32
// CHECK: %[[WARP:.*]] = arith.divui %thread_id_x, %c32
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to %c400{{.*}} step %c32
// CHECK: arith.addi %[[FIRST]], %[[LANE]]
// CHECK: memref.load
// CHECK: %[[ROW:.*]] = arith.minsi
// CHECK-NOT: gpu.barrier
// CHECK: %[[OWNER:.*]] = arith.remui %[[ROW]], %c8
// CHECK: arith.cmpi eq, %[[OWNER]], %[[WARP]]
// CHECK: arith.shli
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.while
// CHECK: memref.load
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16
// CHECK: arith.addf
// CHECK-NOT: gpu.barrier
// CHECK: llvm.mlir.global external constant @scatter_signature(dense<[3, 256,
sched.kernel @scatter attributes {shared = array<i64: 0, 0>} {
^bb0(%t: tensor<50x96xf32>, %i: tensor<400xi64>, %u: tensor<400x96xf32>):
  %0 = train.scatter_add %t, %i, %u {dim = 0 : i64} : (tensor<50x96xf32>, tensor<400xi64>, tensor<400x96xf32>) -> tensor<50x96xf32>
  train.yield %0 : tensor<50x96xf32>
}

// Tests that several teams divide the rows of a table that has many updates, and
// that each warp writes what its rows hold before.
// CHECK: gpu.func @table
// CHECK: %[[TEAM:.*]] = arith.remui %block_id_x, %c4
// CHECK: arith.divui %block_id_x, %c4
// CHECK: %[[BEFORE:.*]] = arith.muli %[[TEAM]], %c16
// CHECK: %[[OWN:.*]] = arith.addi %[[BEFORE]]
// CHECK: scf.for %{{.*}} = %[[OWN]] to %c50{{.*}} step %c64
// CHECK: gpu.barrier
// CHECK: arith.remui %{{.*}}, %c64
// CHECK: scf.while
// CHECK: llvm.mlir.global external constant @table_signature(dense<[12, 512,
sched.kernel @table {
^bb0(%i: tensor<4096xi64>, %u: tensor<4096x96xf32>):
  %t = train.constant dense<0.0> : tensor<50x96xf32>
  %0 = train.scatter_add %t, %i, %u {dim = 0 : i64} : (tensor<50x96xf32>, tensor<4096xi64>, tensor<4096x96xf32>) -> tensor<50x96xf32>
  train.yield %0 : tensor<50x96xf32>
}

// Tests that what stands in a branch is a team's work too: all threads read the
// same expert, and one of them writes its count and its row's place, behind
// barriers.
// CHECK-LABEL: gpu.func @sorted
// CHECK: %[[EXPERT:.*]] = arith.andi
// CHECK: scf.if %[[EXPERT]] {
// CHECK: %[[COUNT:.*]] = memref.load
// CHECK: gpu.barrier
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %thread_id_x
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store
// CHECK: scf.if %{{.*}} {
// CHECK: gpu.barrier
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: memref.store
// CHECK: gpu.barrier
sched.kernel @sorted {
^bb0(%groups: tensor<2x600xi64>):
  %slots, %rows, %counts = train.expert_slots %groups {capacity = 200 : i64, choices = 2 : i64, experts = 4 : i64} : (tensor<2x600xi64>) -> (tensor<2x600xi64>, tensor<2x800xi32>, tensor<2x4xi32>)
  train.yield %slots, %rows, %counts : tensor<2x600xi64>, tensor<2x800xi32>, tensor<2x4xi32>
}
