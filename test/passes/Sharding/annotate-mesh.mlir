// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,ep=2" | FileCheck %s
// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,tp=4" | FileCheck %s --check-prefix=TP

// Tests that the dim that counts samples is divided over dp and ep, whichever
// it is, and nothing else.
// CHECK: module attributes {dist.mesh = #dist.mesh<dp=2,ep=2>}
// CHECK: %{{.*}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<dp+ep,_>,
// CHECK-SAME: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,dp+ep>,
// CHECK-SAME: tensor<8xf32> {train.input = "all"}
// TP: #dist.sharding<dp,_>
func.func @step(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %y: tensor<4x8xf32> {train.input = "y", train.batch_dim = 1 : i64},
                %z: tensor<8xf32> {train.input = "all"}) {
  return
}
