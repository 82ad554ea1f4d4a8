// RUN: zc-opt %s --zc-order-instructions | FileCheck %s

// Tests that a gradient is left as soon as its squares are summed up, where the
// host updates with it: the copy there is no reader that waits for the norm.
!t = tensor<8x1024xf32>
!h = tensor<8x1024xbf16>
!r = tensor<1024xbf16>

train.state @m "optimizer" : !t {host_update, offloaded}
train.state @n "optimizer" : !t {host_update, offloaded}

// CHECK-LABEL: func.func @step
// CHECK: train.exp
// CHECK: train.reduce
// CHECK: train.neg
// CHECK: train.reduce
func.func @step(%m: !t {train.state = @m}, %n: !t {train.state = @n},
                %x: !h {train.input = "x"})
    -> (!t {train.state = @m}, !t {train.state = @n}) {
  %g = train.fused(%x) : (!h) -> !h {
  ^bb0(%a: !h):
    %0 = train.exp %a : (!h) -> !h
    train.yield %0 : !h
  }
  %k = train.fused(%x) : (!h) -> !h {
  ^bb0(%a: !h):
    %0 = train.neg %a : (!h) -> !h
    train.yield %0 : !h
  }
  %p = train.fused(%g) : (!h) -> !r {
  ^bb0(%a: !h):
    %0 = train.reduce "sum_square" %a {dims = array<i64: 0>} : (!h) -> !r
    train.yield %0 : !r
  }
  %q = train.fused(%k) : (!h) -> !r {
  ^bb0(%a: !h):
    %0 = train.reduce "sum_square" %a {dims = array<i64: 0>} : (!h) -> !r
    train.yield %0 : !r
  }
  %norm = train.fused(%p, %q) : (!r, !r) -> tensor<bf16> {
  ^bb0(%a: !r, %b: !r):
    %0 = train.add %a, %b : (!r, !r) -> !r
    %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (!r) -> tensor<bf16>
    train.yield %1 : tensor<bf16>
  }
  %m1 = train.fused(%m, %g, %norm) : (!t, !h, tensor<bf16>) -> !t {
  ^bb0(%a: !t, %b: !h, %c: tensor<bf16>):
    %0 = train.broadcast %c {dims = array<i64>} : (tensor<bf16>) -> !h
    %1 = train.mul %b, %0 : (!h, !h) -> !h
    %2 = train.convert %1 : (!h) -> !t
    %3 = train.add %a, %2 : (!t, !t) -> !t
    train.yield %3 : !t
  }
  %n1 = train.fused(%n, %k, %norm) : (!t, !h, tensor<bf16>) -> !t {
  ^bb0(%a: !t, %b: !h, %c: tensor<bf16>):
    %0 = train.broadcast %c {dims = array<i64>} : (tensor<bf16>) -> !h
    %1 = train.mul %b, %0 : (!h, !h) -> !h
    %2 = train.convert %1 : (!h) -> !t
    %3 = train.add %a, %2 : (!t, !t) -> !t
    train.yield %3 : !t
  }
  return %m1, %n1 : !t, !t
}
