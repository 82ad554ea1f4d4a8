// RUN: zc-opt %s --zc-encode-kept="encodings=bf16 all" | FileCheck %s
// RUN: zc-opt %s --zc-encode-kept="encodings=fp16 all" | FileCheck %s --check-prefix=FP16
// RUN: zc-opt %s --zc-encode-kept=encodings=bf16 | FileCheck %s --check-prefix=CHOSEN
// RUN: zc-opt %s --zc-encode-kept=encodings=none | FileCheck %s --check-prefix=NONE

// Two layers of a product and an exp each, and small statistics; the backward
// reads what each layer reads and makes.

!t = tensor<64x64xf32>
!v = tensor<4096xf32>
!s = tensor<64xf32>

train.state @w0 "parameter" : !t
train.state @w1 "parameter" : !t

// NONE-NOT: bf16
// NONE: return

// Tests that what fp16 does not reach is kept as its largest number.
// FP16: %[[UPPER:.*]] = train.constant dense<6.550400e+04>
// FP16: %[[LOWER:.*]] = train.constant dense<-6.550400e+04>
// FP16: %[[LESS:.*]] = train.min %[[H:.*]], %[[UPPER]]
// FP16: %[[MORE:.*]] = train.max %[[LESS]], %[[LOWER]]
// FP16: %[[NARROW:.*]] = train.convert %[[MORE]] : {{.*}} -> tensor<64x64xf16>
// FP16: train.yield %[[H]], %[[NARROW]]

// Tests that with a measure of the peak what the backward reads first stays.
// CHOSEN: dist.notes = ["{{[12] values? (is|are)}} kept for the backward in fewer bytes, which lowers the plan by 0.0{{[1-3]}} MiB"]

// CHECK-LABEL: func.func @step
func.func @step(%x: !t {train.input = "x"}, %w0: !t {train.state = @w0}, %w1: !t {train.state = @w1})
    -> (!s {train.metric = "loss"}, !t {train.state = @w0}, !t {train.state = @w1}) {
  %a0 = train.fused(%x, %w0) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // Tests that what an op makes element by element it also makes encoded, that
  // what it may share stays so, and that copies to a second memory are of what
  // is kept.
  // CHECK: %[[H0:.*]]:2 = train.fused(%[[A0:.*]]) {offloaded = array<i64: 1>, shared_buffers = array<i64: 0, 0>} : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xbf16>)
  // CHECK: %[[EXP:.*]] = train.exp
  // CHECK: %[[NARROW:.*]] = train.convert %[[EXP]]
  // CHECK: train.yield %[[EXP]], %[[NARROW]]
  %h0 = train.fused(%a0) {offloaded = array<i64: 0>, shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.exp %l : (!t) -> !t
    train.yield %0 : !t
  }
  // Tests that what a library has made and read is encoded behind its last
  // reader.
  // CHECK: %[[A1:.*]] = train.fused(%[[H0]]#0, %{{.*}}) {library
  // CHECK: %[[B1:.*]] = train.fused(%[[A1]], %[[H0]]#0) {library
  // CHECK: %[[KEPT1:.*]] = train.fused(%[[A1]]) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %a1 = train.fused(%h0, %w1) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %b1 = train.fused(%a1, %h0) {library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // Tests that the last to read a value encodes it, as another shape too, and
  // that what is small stays.
  // CHECK: %[[FLAT:.*]] = train.reshape %[[B1]]
  // CHECK: %[[SUM:.*]] = train.fused(%[[B1]])
  // CHECK: %[[H1:.*]]:2 = train.fused(%[[FLAT]]) : (tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xbf16>)
  // CHECK: train.tanh
  // CHECK: train.convert %{{.*}} : (tensor<4096xf32>) -> tensor<4096xbf16>
  %flat = train.reshape %b1 : (!t) -> !v
  %sum = train.fused(%b1) : (!t) -> !s {
  ^bb0(%l: !t):
    %0 = train.reduce "sum" %l {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  %h1 = train.fused(%flat) : (!v) -> !v {
  ^bb0(%l: !v):
    %0 = train.tanh %l : (!v) -> !v
    train.yield %0 : !v
  }
  %square = train.reshape %h1 : (!v) -> !t
  %loss = train.fused(%square, %sum) : (!t, !s) -> !s {
  ^bb0(%l: !t, %s: !s):
    %0 = train.reduce "sum" %l {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  // Tests that loop nests and sums decode what they read, and may no longer
  // write over it; the statistics are read as they are.
  // CHECK: %[[VIEW:.*]] = train.reshape %[[H1]]#1 : (tensor<4096xbf16>) -> tensor<64x64xbf16>
  // CHECK: train.fused(%{{.*}}, %[[VIEW]], %[[SUM]]) : (
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<64xf32>, %[[READ:.*]]: tensor<64x64xbf16>, %{{.*}}: tensor<64xf32>):
  // CHECK-NEXT: %[[WIDE:.*]] = train.convert %[[READ]] : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: train.mul %{{.*}}, %[[WIDE]]
  %d1 = train.fused(%loss, %b1, %sum) {shared_buffers = array<i64: 1, 0>} : (!s, !t, !s) -> !t {
  ^bb0(%g: !s, %l: !t, %s: !s):
    %0 = train.sub %g, %s : (!s, !s) -> !s
    %1 = train.broadcast %0 {dims = array<i64: 0>} : (!s) -> !t
    %2 = train.mul %1, %l : (!t, !t) -> !t
    train.yield %2 : !t
  }
  // Tests that libraries read what is decoded once, and late.
  // CHECK: %[[WHOLE:.*]] = train.fused(%[[H0]]#1) {recomputed} : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  // CHECK: train.fused(%[[WHOLE]], %{{.*}}) {gradients = array<i64: 0>, library = "onednn.matmul"}
  %g1 = train.fused(%h0, %d1) {gradients = array<i64: 0>, library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r {transpose_lhs} : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // CHECK: train.fused(%{{.*}}, %[[KEPT1]])
  // CHECK-NOT: {{[{ ]}}recomputed
  %d0 = train.fused(%d1, %a1) : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.mul %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  // CHECK: train.fused(%[[WHOLE]], %{{.*}}) {gradients = array<i64: 0>, library = "onednn.matmul"}
  %g0 = train.fused(%h0, %d0) {gradients = array<i64: 0>, library = "onednn.matmul"} : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r {transpose_lhs} : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %n1 = train.fused(%w1, %g1) : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.sub %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  %n0 = train.fused(%w0, %g0) : (!t, !t) -> !t {
  ^bb0(%l: !t, %r: !t):
    %0 = train.sub %l, %r : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %loss, %n0, %n1 : !s, !t, !t
}
