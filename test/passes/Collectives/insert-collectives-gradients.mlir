// RUN: zc-opt %s --zc-insert-collectives=gradients=fp32 --zc-verify-sharding | FileCheck %s
// RUN: zc-opt %s --zc-insert-collectives=gradients=bf16 --zc-verify-sharding | FileCheck %s --check-prefix=NARROW

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
}
