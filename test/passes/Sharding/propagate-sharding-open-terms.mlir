// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,tp=2" --zc-propagate-sharding --zc-insert-collectives=gradients=fp32 --zc-fold-collectives --zc-verify-sharding | FileCheck %s

train.state @w "parameter" : tensor<5xf32>
train.state @v "parameter" : tensor<8xf32> {dist.sharding = #dist.sharding<tp>}

// Tests that of a unit's gradients one that every rank of dp computed whole and
// that is a sum of terms over tp, as that of a scale which all of a divided
// weight's elements share, becomes terms over both.
// CHECK-LABEL: func.func @unit
// CHECK: train.reduce "sum" %{{.*}}dist.results = [#dist.sharding<unreduced tp>]
// CHECK: train.broadcast {{.*}}dist.results = [#dist.sharding<dp,_ unreduced tp>]{{.*}}tensor<2x1xf32>
// CHECK: dist.all_reduce {{.*}}tensor<1xf32>
// CHECK: train.concat {{.*}}dist.results = [#dist.sharding<_ unreduced dp>]
// CHECK: dist.all_reduce {{.*}}tensor<5xf32>
func.func @unit(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %v: tensor<8xf32> {train.state = @v})
    -> (tensor<5xf32> {train.state = @w}) {
  %g = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %e = train.exp %v : (tensor<8xf32>) -> tensor<8xf32>
  %s = train.reduce "sum" %e {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %h = train.reshape %s : (tensor<f32>) -> tensor<1xf32>
  %flat = train.concat %g, %h {dim = 0 : i64, train.staging, train.gradients = array<i64: 0>, dist.traffic = "gradients"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  %new = train.exp %flat : (tensor<5xf32>) -> tensor<5xf32>
  return %new : tensor<5xf32>
}
