// RUN: zc-opt %s --zc-encode-kept="encodings=bits,fp16 all" | FileCheck %s
// RUN: zc-opt %s --zc-encode-kept=encodings=bits,fp16 | FileCheck %s --check-prefix=CHOSEN
// RUN: zc-opt %s --zc-recompute="policy=auto budget=124000 encodings=bits,fp16" | FileCheck %s --check-prefix=FITS
// RUN: sed 's/train.exact_encodings, //' %s | zc-opt --zc-recompute="policy=auto budget=124000 encodings=bits,fp16" | FileCheck %s --check-prefix=ROUNDED

// --zc-plan-pool-places has marked the module: nothing that is kept is rounded.

// Tests that signs are kept as bits and nothing in 16 bits, and that this is said.
// CHECK: module attributes {dist.notes = ["no value is rounded for the backward: the planned peak would be no lower"]
// CHECK-NOT: f16
// CHECK: train.pack_bits
// CHECK-NOT: f16

// Tests that where these bits lower nothing, a lower plan is that of pools.
// CHOSEN: module attributes {dist.notes = ["no value is rounded for the backward: the planned peak would be no lower", "max pools keep the places of their maxima, which lowers the plan by 1023.{{[0-9]+}} MiB; no value is kept in fewer bytes besides"]}
// CHOSEN-NOT: pack_bits
// CHOSEN: return

// Tests that recomputation plans with the same encodings: the plan without rounding
// fits the budget as it is. Without the mark values are rounded, some are decoded
// as a whole, and something would have to run again.
// FITS: train.recomputed_work = array<f64: 0.000000e+00,
// ROUNDED: train.recomputed_work = array<f64: 2.000000e+00,

!t = tensor<64x72xf32>
!w = tensor<72x72xf32>
!b = tensor<64x72xi1>
!s = tensor<64xf32>

module attributes {train.exact_encodings, train.plain_peak = 1073741824 : i64} {
train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
func.func @step(%x: !t {train.input = "x"}, %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (!s {train.metric = "loss"}, !w {train.state = @w0}, !w {train.state = @w1}) {
  %a0 = train.fused(%x, %w0) {library = "onednn.matmul"} : (!t, !w) -> !t {
  ^bb0(%l: !t, %r: !w):
    %0 = train.matmul %l, %r : (!t, !w) -> !t
    train.yield %0 : !t
  }
  %h0 = train.fused(%a0) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.relu %l : (!t) -> !t
    train.yield %0 : !t
  }
  %a1 = train.fused(%h0, %w1) {library = "onednn.matmul"} : (!t, !w) -> !t {
  ^bb0(%l: !t, %r: !w):
    %0 = train.matmul %l, %r : (!t, !w) -> !t
    train.yield %0 : !t
  }
  %h1 = train.fused(%a1) : (!t) -> !t {
  ^bb0(%l: !t):
    %0 = train.relu %l : (!t) -> !t
    train.yield %0 : !t
  }
  %loss = train.fused(%h1) : (!t) -> !s {
  ^bb0(%l: !t):
    %0 = train.reduce "sum" %l {dims = array<i64: 1>} : (!t) -> !s
    train.yield %0 : !s
  }
  %d1 = train.fused(%loss, %h1) : (!s, !t) -> !t {
  ^bb0(%g: !s, %l: !t):
    %zero = train.constant dense<0.0> : !t
    %0 = train.broadcast %g {dims = array<i64: 0>} : (!s) -> !t
    %1 = train.compare "gt" %l, %zero : (!t, !t) -> !b
    %2 = train.select %1, %0, %zero : (!b, !t, !t) -> !t
    train.yield %2 : !t
  }
  %g1 = train.fused(%h0, %d1) {library = "onednn.matmul", gradients = array<i64: 0>} : (!t, !t) -> !w {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r {transpose_lhs} : (!t, !t) -> !w
    train.yield %0 : !w
  }
  %e0 = train.fused(%d1, %w1) {library = "onednn.matmul"} : (!t, !w) -> !t {
  ^bb0(%l: !t, %r: !w):
    %0 = train.matmul %l, %r {transpose_rhs} : (!t, !w) -> !t
    train.yield %0 : !t
  }
  %d0 = train.fused(%e0, %h0) : (!t, !t) -> !t {
  ^bb0(%g: !t, %l: !t):
    %zero = train.constant dense<0.0> : !t
    %0 = train.compare "gt" %l, %zero : (!t, !t) -> !b
    %1 = train.select %0, %g, %zero : (!b, !t, !t) -> !t
    train.yield %1 : !t
  }
  %g0 = train.fused(%x, %d0) {library = "onednn.matmul", gradients = array<i64: 0>} : (!t, !t) -> !w {
  ^bb0(%l: !t, %r: !t):
    %0 = train.matmul %l, %r {transpose_lhs} : (!t, !t) -> !w
    train.yield %0 : !w
  }
  return %loss, %g0, %g1 : !s, !w, !w
}
}
