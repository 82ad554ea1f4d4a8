// RUN: zc-opt %s --split-input-file --zc-insert-collectives=gradients=fp32 --zc-verify-sharding | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-insert-collectives=gradients=bf16 --zc-verify-sharding | FileCheck %s --check-prefix=NARROW

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  // Tests that a gradient of 16 bits is added up in float32, between two
  // conversions, and is a gradient again behind them.
  // CHECK-LABEL: func.func @gradient
  // CHECK: %[[WIDE:.*]] = train.convert %{{.*}} : (tensor<8xbf16>) -> tensor<8xf32>
  // CHECK: %[[SUM:.*]] = dist.all_reduce %[[WIDE]] {axes = ["dp"], {{.*}}traffic = "gradients", train.staging}
  // CHECK: train.convert %[[SUM]] {{.*}}train.gradients = array<i64: 0>{{.*}} : (tensor<8xf32>) -> tensor<8xbf16>
  // NARROW-LABEL: func.func @gradient
  // NARROW-NOT: train.convert
  // NARROW: dist.all_reduce {{.*}} : {{.*}}tensor<8xbf16>
  func.func @gradient(%x: tensor<8xbf16> {dist.sharding = #dist.sharding<_ unreduced dp>}) {
    %0 = train.neg %x {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_ unreduced dp>]} : (tensor<8xbf16>) -> tensor<8xbf16>
    %1 = dist.reshard %0 {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_>], dist.traffic = "gradients", train.gradients = array<i64: 0>} : tensor<8xbf16>
    %2 = train.exp %1 {dist.operands = [#dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xbf16>) -> tensor<8xbf16>
    return
  }

  // Tests that what micro-batches have added up, an argument, is sent in another
  // type as any gradient.
  // CHECK-LABEL: func.func @accumulated
  // CHECK-NOT: train.convert
  // CHECK: dist.all_reduce %{{.*}} : {{.*}}tensor<8xf32>
  // NARROW-LABEL: func.func @accumulated
  // NARROW-SAME: (%[[SUM:[^:]*]]: tensor<8xf32>
  // NARROW: %[[TERMS:.*]] = train.convert %[[SUM]] {{.*}}train.staging} : (tensor<8xf32>) -> tensor<8xbf16>
  // NARROW: %[[ALL:.*]] = dist.all_reduce %[[TERMS]] {{.*}}traffic = "gradients"
  // NARROW: train.convert %[[ALL]] {{.*}} : (tensor<8xbf16>) -> tensor<8xf32>
  func.func @accumulated(%sum: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced dp>}) {
    %0 = dist.reshard %sum {dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_>], dist.traffic = "gradients", train.gradients = array<i64: 0>} : tensor<8xf32>
    %1 = train.exp %0 {dist.operands = [#dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
}

// -----

// Tests that a sum over some axes, of 16 bits again, is marked where other axes
// go on adding: the conversion passes for linear, whose results are terms.
module attributes {dist.mesh = #dist.mesh<dp=2, tp=2>} {
  // CHECK-LABEL: func.func @over_some
  // CHECK: %[[TERM:.*]] = train.convert %{{.*}} : (tensor<8xbf16>) -> tensor<8xf32>
  // CHECK: %[[PART:.*]] = dist.reduce_scatter %[[TERM]] {axes = ["tp"]
  // CHECK: train.convert %[[PART]] {{.*}}rounds_result{{.*}} : (tensor<8xf32>) -> tensor<8xbf16>
  func.func @over_some(%x: tensor<8xbf16> {dist.sharding = #dist.sharding<_ unreduced dp+tp>}) {
    %0 = train.neg %x {dist.operands = [#dist.sharding<_ unreduced dp+tp>], dist.results = [#dist.sharding<_ unreduced dp+tp>]} : (tensor<8xbf16>) -> tensor<8xbf16>
    %1 = dist.reshard %0 {dist.operands = [#dist.sharding<_ unreduced dp+tp>], dist.results = [#dist.sharding<tp unreduced dp>], dist.traffic = "gradients", train.gradients = array<i64: 0>} : tensor<8xbf16>
    %2 = train.neg %1 {dist.operands = [#dist.sharding<tp unreduced dp>], dist.results = [#dist.sharding<tp unreduced dp>]} : (tensor<8xbf16>) -> tensor<8xbf16>
    return
  }
}
