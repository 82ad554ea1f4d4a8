// RUN: zc-opt %s --zc-share-code | FileCheck %s
// RUN: zc-opt %s --pass-pipeline="builtin.module(zc-share-code,builtin.module(zc-add-entry-points))" | FileCheck %s --check-prefix=ENTRY

// Tests that functions of several modules that differ in where loops end and in
// how far rows are apart become one, which takes both as arguments: aliases have
// their own numbers, and so have the aliases that a function had before. A number
// that all of them have (0, 1) stays in the code.
// CHECK-LABEL: module @zc.kernels
// CHECK: llvm.func @a(%[[X:.*]]: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64, %[[COLUMNS:.*]]: i64, %[[STRIDE:.*]]: i64)
// CHECK-SAME: sched.aliases = [
// CHECK-SAME: name = "b", sched.buffers = array<i32: 0, 1>, sched.numbers = array<i64: 96, 192>, sched.signature
// CHECK-SAME: name = "twin", sched.buffers = array<i32: 1, 0>, sched.numbers = array<i64: 48, 96>, sched.signature
// CHECK-SAME: name = "c", sched.buffers = array<i32: 0, 1>, sched.numbers = array<i64: 48, 96>, sched.signature
// CHECK-SAME: name = "d", sched.buffers = array<i32: 0, 1>, sched.numbers = array<i64: 80, 160>, sched.signature
// CHECK-SAME: sched.numbers = array<i64: 64, 128>
// CHECK: llvm.icmp "slt" %{{.*}}, %[[COLUMNS]]
// CHECK: llvm.mul %{{.*}}, %[[STRIDE]]
// CHECK-NOT: llvm.func @b
// CHECK-NOT: llvm.func @c(
// CHECK-NOT: llvm.func @d

// ENTRY: llvm.func @a(%{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// ENTRY: %[[N0:.*]] = llvm.mlir.constant(64 : i64)
// ENTRY: %[[N1:.*]] = llvm.mlir.constant(128 : i64)
// ENTRY: llvm.call @a.blocks(%{{.*}}, %{{.*}}, %[[BEGIN]], %[[END]], %[[N0]], %[[N1]])
// ENTRY: llvm.func @b(
// ENTRY: llvm.mlir.constant(96 : i64)
// ENTRY: llvm.mlir.constant(192 : i64)
// ENTRY: llvm.call @a.blocks
// ENTRY: llvm.func internal @a.blocks
// ENTRY-SAME: passthrough = ["noduplicate"]
module @zc.kernels {
llvm.func @a(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 4, 2048, 2048>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(64 : index) : i64
  %d = llvm.mlir.constant(128 : index) : i64
  llvm.br ^rows(%begin : i64)
^rows(%i: i64):
  %2 = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %2, ^columns(%0 : i64), ^done
^columns(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^next
^body:
  %4 = llvm.mul %i, %d : i64
  %5 = llvm.add %4, %j : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^columns(%9 : i64)
^next:
  %10 = llvm.add %i, %1 : i64
  llvm.br ^rows(%10 : i64)
^done:
  llvm.return
}
llvm.func @b(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 4, 3072, 3072>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(96 : index) : i64
  %d = llvm.mlir.constant(192 : index) : i64
  llvm.br ^rows(%begin : i64)
^rows(%i: i64):
  %2 = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %2, ^columns(%0 : i64), ^done
^columns(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^next
^body:
  %4 = llvm.mul %i, %d : i64
  %5 = llvm.add %4, %j : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^columns(%9 : i64)
^next:
  %10 = llvm.add %i, %1 : i64
  llvm.br ^rows(%10 : i64)
^done:
  llvm.return
}
}
module @zc.kernels.1 {
llvm.func @c(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 8, 3072, 3072>, sched.aliases = [{name = "twin", sched.buffers = array<i32: 1, 0>, sched.signature = array<i64: 8, 3072, 3072>}]} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(48 : index) : i64
  %d = llvm.mlir.constant(96 : index) : i64
  llvm.br ^rows(%begin : i64)
^rows(%i: i64):
  %2 = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %2, ^columns(%0 : i64), ^done
^columns(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^next
^body:
  %4 = llvm.mul %i, %d : i64
  %5 = llvm.add %4, %j : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^columns(%9 : i64)
^next:
  %10 = llvm.add %i, %1 : i64
  llvm.br ^rows(%10 : i64)
^done:
  llvm.return
}
llvm.func @d(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 8, 5120, 5120>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(80 : index) : i64
  %d = llvm.mlir.constant(160 : index) : i64
  llvm.br ^rows(%begin : i64)
^rows(%i: i64):
  %2 = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %2, ^columns(%0 : i64), ^done
^columns(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^next
^body:
  %4 = llvm.mul %i, %d : i64
  %5 = llvm.add %4, %j : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^columns(%9 : i64)
^next:
  %10 = llvm.add %i, %1 : i64
  llvm.br ^rows(%10 : i64)
^done:
  llvm.return
}
}

// Tests that sums stay apart: LLVM may order a sum by its length.
// CHECK-LABEL: module @zc.kernels.sums
// CHECK-COUNT-4: llvm.func @sum{{.}}({{.*}}%{{[^,]*}}: i64, %{{[^,]*}}: i64) attributes
module @zc.kernels.sums {
llvm.func @sum1(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 256, 256>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(32 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %6 = llvm.getelementptr %x[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.load %y : !llvm.ptr -> f32
  %s = llvm.fadd %8, %7 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  llvm.store %s, %y : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @sum2(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 512, 512>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(64 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %6 = llvm.getelementptr %x[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.load %y : !llvm.ptr -> f32
  %s = llvm.fadd %8, %7 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  llvm.store %s, %y : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @sum3(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 768, 768>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(96 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %6 = llvm.getelementptr %x[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.load %y : !llvm.ptr -> f32
  %s = llvm.fadd %8, %7 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  llvm.store %s, %y : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @sum4(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 1024, 1024>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %c = llvm.mlir.constant(128 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %c : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %6 = llvm.getelementptr %x[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.load %y : !llvm.ptr -> f32
  %s = llvm.fadd %8, %7 {fastmathFlags = #llvm.fastmath<reassoc>} : f32
  llvm.store %s, %y : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
}

// Tests that strides within an innermost loop stay.
// CHECK-LABEL: module @zc.kernels.strides
// CHECK-NOT: sched.numbers
module @zc.kernels.strides {
llvm.func @stride2(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 16, 16>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %n = llvm.mlir.constant(8 : index) : i64
  %c = llvm.mlir.constant(2 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %5 = llvm.mul %j, %c : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @stride3(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 24, 24>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %n = llvm.mlir.constant(8 : index) : i64
  %c = llvm.mlir.constant(3 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %5 = llvm.mul %j, %c : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @stride4(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 32, 32>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %n = llvm.mlir.constant(8 : index) : i64
  %c = llvm.mlir.constant(4 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %5 = llvm.mul %j, %c : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
llvm.func @stride5(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64)
    attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 1, 40, 40>} {
  %0 = llvm.mlir.constant(0 : index) : i64
  %1 = llvm.mlir.constant(1 : index) : i64
  %n = llvm.mlir.constant(8 : index) : i64
  %c = llvm.mlir.constant(5 : index) : i64
  llvm.br ^terms(%0 : i64)
^terms(%j: i64):
  %3 = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %3, ^body, ^done
^body:
  %5 = llvm.mul %j, %c : i64
  %6 = llvm.getelementptr %x[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %7 = llvm.load %6 : !llvm.ptr -> f32
  %8 = llvm.getelementptr %y[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %7, %8 : f32, !llvm.ptr
  %9 = llvm.add %j, %1 : i64
  llvm.br ^terms(%9 : i64)
^done:
  llvm.return
}
}
