// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2" --zc-propagate-sharding | FileCheck %s
// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2" --zc-propagate-sharding --zc-insert-collectives=gradients=fp32 --zc-fold-collectives --zc-verify-sharding --zc-localize --canonicalize | FileCheck %s --check-prefix=LOCAL

train.state @w "parameter" : tensor<12xf32>

// Tests that of a unit's gradients one that every rank computed whole becomes a
// term of a sum, the first rank's, so that the unit is reduced as one: a rank
// has its own line of it alone.
// CHECK-LABEL: func.func @unit
// CHECK: %[[G:.*]] = train.reduce "sum" %{{.*}}dist.results = [#dist.sharding<_ unreduced dp>]
// CHECK: %[[FIRST:.*]] = train.constant {{.*}}dense<[1.000000e+00, 0.000000e+00]>
// CHECK: %[[LINES:.*]] = train.mul {{.*}}dist.results = [#dist.sharding<dp,_>]
// CHECK: %[[OWN:.*]] = dist.reshard %[[LINES]]
// CHECK: %[[TERM:.*]] = train.reduce "sum" %[[OWN]] {{.*}}dist.results = [#dist.sharding<_ unreduced dp>]
// CHECK: train.concat %[[G]], %[[TERM]] {{.*}}dist.results = [#dist.sharding<_ unreduced dp>]
// LOCAL-LABEL: func.func @unit
// LOCAL-NOT: tensor<2x8xf32>
// LOCAL: dist.all_reduce {{.*}}traffic = "gradients"{{.*}}tensor<12xf32>
// LOCAL-NOT: dist.all_reduce
// LOCAL: return
func.func @unit(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %c: tensor<8xf32> {train.input = "c"})
    -> (tensor<12xf32> {train.state = @w}) {
  %g = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %h = train.exp %c : (tensor<8xf32>) -> tensor<8xf32>
  %flat = train.concat %g, %h {dim = 0 : i64, train.staging, train.gradients = array<i64: 0>, dist.traffic = "gradients"} : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
  %new = train.exp %flat : (tensor<12xf32>) -> tensor<12xf32>
  return %new : tensor<12xf32>
}

// Tests that terms that lead to two gradients are sent as these, in their type
// and once each, though two read them and one of float32 has more bytes.
// LOCAL-LABEL: func.func @parts
// LOCAL-NOT: "activations"
// LOCAL: dist.all_reduce {{.*}}traffic = "gradients"{{.*}}tensor<2xf32>
// LOCAL: dist.all_reduce {{.*}}traffic = "gradients"{{.*}}tensor<2xf32>
// LOCAL-NOT: dist.all_reduce
// LOCAL: return
func.func @parts(%x: tensor<4x8xbf16> {train.input = "x", train.batch_dim = 1 : i64},
                 %y: tensor<8x1xbf16> {train.input = "y", train.batch_dim = 0 : i64})
    -> (tensor<2xf32> {train.output = "a"}, tensor<2xf32> {train.output = "b"}) {
  %0 = train.matmul %x, %y : (tensor<4x8xbf16>, tensor<8x1xbf16>) -> tensor<4x1xbf16>
  %1 = train.reshape %0 : (tensor<4x1xbf16>) -> tensor<4xbf16>
  %2 = train.convert %1 : (tensor<4xbf16>) -> tensor<4xf32>
  %a = train.slice %2 {offsets = array<i64: 0>, strides = array<i64: 1>, train.gradients = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  %b = train.slice %2 {offsets = array<i64: 2>, strides = array<i64: 1>, train.gradients = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  %a1 = train.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %b1 = train.exp %b : (tensor<2xf32>) -> tensor<2xf32>
  return %a1, %b1 : tensor<2xf32>, tensor<2xf32>
}

// Tests that what is no gradient is reduced in 16 bits, which are fewer bytes,
// and once for all who read it.
// LOCAL-LABEL: func.func @activation
// LOCAL: dist.all_reduce {{.*}}traffic = "activations"{{.*}}tensor<4x1xbf16>
// LOCAL-NOT: dist.all_reduce
// LOCAL: return
func.func @activation(%x: tensor<4x8xbf16> {train.input = "x", train.batch_dim = 1 : i64},
                      %y: tensor<8x1xbf16> {train.input = "y", train.batch_dim = 0 : i64})
    -> (tensor<4x1xf32> {train.output = "a"}, tensor<4x1xf32> {train.output = "b"}) {
  %0 = train.matmul %x, %y : (tensor<4x8xbf16>, tensor<8x1xbf16>) -> tensor<4x1xbf16>
  %1 = train.convert %0 : (tensor<4x1xbf16>) -> tensor<4x1xf32>
  %a = train.exp %1 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %b = train.neg %1 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  return %a, %b : tensor<4x1xf32>, tensor<4x1xf32>
}
