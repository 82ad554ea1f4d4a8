// RUN: zc-opt %s --zc-add-entry-points | FileCheck %s

// Tests that the entry point loads the buffers that the kernel names, and keeps
// the kernel from being inlined, where its arguments would lose noalias; and
// that what a call must agree with stands beside it.
// CHECK: llvm.mlir.global external constant @k.signature(dense<[4, 3, 24, 8, 96]> : tensor<5xi64>) {{.*}}: !llvm.array<5 x i64>
// CHECK: llvm.func @k(%[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: %[[S0:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[P0:.*]] = llvm.load %[[S0]]
// CHECK: %[[S2:.*]] = llvm.getelementptr %[[BUFFERS]][2]
// CHECK: %[[P2:.*]] = llvm.load %[[S2]]
// CHECK: llvm.call @k.blocks(%[[P0]], %[[P2]], %[[BEGIN]], %[[END]])
// CHECK: llvm.func internal @k.blocks
// CHECK-SAME: no_inline
llvm.func @k(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 2>, sched.signature = array<i64: 4, 24, 8, 96>} {
  llvm.return
}

// Tests that each kernel that a function computes has an entry point of its own,
// which says where the buffers begin.
// CHECK: @shared.signature(dense<[1, 2, 8, 8]>
// CHECK: llvm.func @shared(
// CHECK-NOT: [4]
// CHECK: llvm.call @shared.blocks
// CHECK: @later.signature(dense<[1, 2, 16, 8]>
// CHECK: llvm.func @later(%[[OTHERS:.*]]: !llvm.ptr,
// CHECK: %[[S:.*]] = llvm.getelementptr %[[OTHERS]][0]
// CHECK: %[[P:.*]] = llvm.load %[[S]]
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[LATER:.*]] = llvm.getelementptr %[[P]][%[[BYTES]]]
// CHECK: llvm.call @shared.blocks(%[[LATER]],
llvm.func @shared(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 8, 8>,
                sched.aliases = [{name = "later", sched.buffers = array<i32: 0, 1>, sched.shifts = array<i64: 4, 0>, sched.signature = array<i64: 1, 16, 8>}]} {
  llvm.return
}

// Tests that kernels that pass the same have one entry point of several names,
// each with a signature of its own.
// CHECK: @one.signature(dense<[1, 2, 8, 8]>
// CHECK: llvm.func @one(
// CHECK: llvm.mlir.alias external @two
// CHECK: llvm.mlir.addressof @one
// CHECK: @two.signature(dense<[2, 2, 16, 16]>
// CHECK: @swapped.signature
// CHECK: llvm.func @swapped(
llvm.func @one(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 8, 8>,
                sched.aliases = [{name = "two", sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 2, 16, 16>},
                              {name = "swapped", sched.buffers = array<i32: 1, 0>, sched.signature = array<i64: 1, 8, 8>}]} {
  llvm.return
}
