// RUN: zc-opt %s --zc-encode-kept="encodings=bits all" | FileCheck %s --check-prefix=BITS
// RUN: zc-opt %s --zc-encode-kept="encodings=sparse=0.5 all" | FileCheck %s --check-prefix=SPARSE
// RUN: zc-opt %s --zc-encode-kept="encodings=sparse,bits,bf16 all" | FileCheck %s --check-prefix=BOTH

// A product and a ReLU, and again; the backward reads of the first ReLU all that
// it has made, of the second only where that is above 0.

!t = tensor<64x72xf32>
!w = tensor<72x72xf32>
!b = tensor<64x72xi1>
!s = tensor<64xf32>

train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w

// Tests that the forward's own region tests the sign, that eight truth values
// become a byte behind it, and that the reader asks for what they say.
// BITS: %[[R:.*]]:2 = train.fused(%{{.*}}) : (tensor<64x72xf32>) -> (tensor<64x72xf32>, tensor<64x72xi1>)
// BITS: train.compare "gt"
// BITS: %[[PACKED:.*]] = train.fused(%[[R]]#1) : (tensor<64x72xi1>) -> tensor<8x72xi8>
// BITS: train.pack_bits %{{.*}} {dim = 0 : i64}
// BITS: %[[BACK:.*]] = train.fused(%[[PACKED]]) {recomputed} : (tensor<8x72xi8>) -> tensor<64x72xi1>
// BITS: train.fused(%{{.*}}, %[[BACK]])
// BITS: train.select
// BITS-NOT: pack_bits

// Tests that what a ReLU has made is kept without its zeros for a product, but
// not where another op reads it.
// SPARSE: %[[R:[0-9]+]] = train.fused(%{{[0-9]+}}) : (tensor<64x72xf32>) -> tensor<64x72xf32>
// SPARSE: train.relu
// SPARSE: %[[KEPT:.*]]:3 = train.fused(%[[R]]) {library = "zc.sparse"{{.*}} : (tensor<64x72xf32>) -> (tensor<576xi8>, tensor<3xi64>, tensor<2304xf32>)
// SPARSE: train.sparse_encode
// SPARSE-NOT: sparse_encode
// SPARSE: %[[BACK:.*]] = train.fused(%[[KEPT]]#0, %[[KEPT]]#1, %[[KEPT]]#2) {library = "zc.sparse"{{.*}}recomputed
// SPARSE: train.sparse_decode
// SPARSE: train.fused(%[[BACK]], %{{.*}}) {{.*}}library = "onednn.matmul"

// Tests that what is left of a sparse tensor may be encoded further.
// BOTH: -> (tensor<576xi8>, tensor<3xi64>, tensor<2765xf32>)
// BOTH: train.convert %{{.*}} : (tensor<2765xf32>) -> tensor<2765xbf16>
// BOTH: train.pack_bits

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
