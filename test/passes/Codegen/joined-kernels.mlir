// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels | FileCheck %s --check-prefix=PARTS
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels --zc-distribute-threads | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-cuda-codegen-pipeline | FileCheck %s --check-prefix=NVVM

// Tests that parts which share no value have a function each, equal ones once,
// and that the kernel says whose buffers are whose.
// PARTS-LABEL: sched.kernel @joined attributes {grid = 4 : i64
// PARTS: func.func @joined_0(%{{.*}}: memref<768xf32> {{.*}}sched.block_per_thread = 192
// PARTS: func.func @joined_1(%{{.*}}: memref<1024x64xf32> {{.*}}sched.threads = 512
// PARTS: func.func private @joined() attributes {
// PARTS-SAME: sched.parts = [{copies = [array<i32: 0, 1, 5>, array<i32: 3, 4, 7>], function = @joined_0},
// PARTS-SAME: {copies = [array<i32: 2, 6>], function = @joined_1}]
// PARTS-SAME: sched.signature = array<i64: 4, 512, 3072, 3072, 262144, 3072, 3072, 3072, 256, 3072>

// Tests that each part has teams to itself, and of their threads those that it
// is made for; that equal parts differ in their buffers; that shared memory is a
// part's while its teams run.
// CHECK-LABEL: gpu.func @joined(%arg0: memref<768xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: %arg6: memref<64xf32> {llvm.align = 64 : i64}, %arg7: memref<3072xi8>
// CHECK-SAME: workgroup(%[[POOL:.*]] : memref<2048xi8, 3> {llvm.align = 16 : i64})
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: memref.view %[[POOL]][%{{.*}}][] : memref<2048xi8, 3> to memref<128xf32, 3>
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %{{.*}}, %c2 : index
// CHECK: %[[WORKS:.*]] = arith.cmpi ult, %thread_id_x, %c256
// CHECK: %[[BOTH:.*]] = arith.andi %[[MINE]], %[[WORKS]]
// CHECK: scf.if %[[BOTH]]
// CHECK: scf.index_switch
// CHECK-NEXT: case 1 {
// CHECK-NEXT: scf.yield %arg3, %arg4
// CHECK: default {
// CHECK-NEXT: scf.yield %arg0, %arg1
// CHECK: arith.addf
// CHECK: %[[TEAM:.*]] = arith.subi %block_id_x, %c2
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %[[TEAM]], %c2{{.*}} : index
// CHECK-NEXT: scf.if %[[MINE]]
// CHECK: scf.for %{{.*}} = %[[TEAM]] to
// CHECK: gpu.barrier
// CHECK: @joined_signature(dense<[4, 512, 8, 3072, 3072, 262144,
sched.kernel @joined attributes {shared = array<i64: 0, 0, 3, 2>} {
^bb0(%x: tensor<768xf32>, %y: tensor<768xf32>, %z: tensor<1024x64xf32>, %v: tensor<768xf32>, %w: tensor<768xf32>):
  %0 = train.add %x, %y : (tensor<768xf32>, tensor<768xf32>) -> tensor<768xf32>
  %1 = train.reduce "sum" %z {dims = array<i64: 0>} : (tensor<1024x64xf32>) -> tensor<64xf32>
  %2 = train.add %v, %w : (tensor<768xf32>, tensor<768xf32>) -> tensor<768xf32>
  train.yield %0, %1, %2 : tensor<768xf32>, tensor<64xf32>, tensor<768xf32>
}

// Tests that threads which a part has no use for wait at none of its barriers.
// CHECK-LABEL: gpu.func @narrow(
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(64 : i32)
// CHECK-NEXT: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT: nvvm.barrier id = %[[ONE]] number_of_threads = %[[COUNT]]
// CHECK: arith.subi %block_id_x
// CHECK: gpu.barrier
// NVVM-LABEL: llvm.func @narrow(
// NVVM: nvvm.barrier id
// NVVM: nvvm.barrier0
sched.kernel @narrow {
^bb0(%x: tensor<4x256xf32>, %y: tensor<1024x64xf32>):
  %0 = train.softmax %x {dim = 1 : i64} : (tensor<4x256xf32>) -> tensor<4x256xf32>
  %1 = train.reduce "sum" %y {dims = array<i64: 0>} : (tensor<1024x64xf32>) -> tensor<64xf32>
  train.yield %0, %1 : tensor<4x256xf32>, tensor<64xf32>
}
