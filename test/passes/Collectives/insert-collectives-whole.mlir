// RUN: zc-opt %s --zc-insert-collectives=sums-whole=true --zc-fold-collectives | FileCheck %s
// RUN: zc-opt %s --zc-insert-collectives --zc-fold-collectives | FileCheck %s --check-prefix=SCATTERED

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  // Tests that where sums of gradients are to be whole, each rank gets all of one
  // and keeps its part, and that the two are not made one again.
  // CHECK-LABEL: func.func @gradient
  // CHECK: %[[SUM:.*]] = dist.all_reduce %{{.*}} {{.*}}stays_whole
  // CHECK: dist.slice %[[SUM]]
  // CHECK-NOT: dist.reduce_scatter
  // SCATTERED-LABEL: func.func @gradient
  // SCATTERED: dist.reduce_scatter
  func.func @gradient(%x: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced dp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<dp>, train.output = "y"}) {
    %0 = train.neg %x {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_ unreduced dp>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.reshard %0 {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<dp>], dist.traffic = "gradients", train.gradients = array<i64: 0>} : tensor<8xf32>
    %2 = train.exp %1 {dist.operands = [#dist.sharding<dp>], dist.results = [#dist.sharding<dp>]} : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
