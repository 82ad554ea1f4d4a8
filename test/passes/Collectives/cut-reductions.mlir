// RUN: zc-opt %s --zc-cut-reductions=bytes=16 | FileCheck %s
// RUN: zc-opt %s --zc-cut-reductions | FileCheck %s --check-prefix=WHOLE

// WHOLE-COUNT-6: dist.{{all_reduce|reduce_scatter}}
// WHOLE-NOT: {{dist.all_reduce|dist.reduce_scatter}}

module attributes {dist.mesh = #dist.mesh<dp=2>} {

// Tests that a sum that is widened goes in pieces of as many bytes, which are
// the gradient together.
// CHECK-LABEL: func.func @all
func.func @all(%g: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  // CHECK: %[[FLAT:.*]] = train.reshape %{{.*}} : (tensor<2x4xbf16>) -> tensor<1x8xbf16>
  // CHECK: %[[PIECE:.*]] = train.slice %[[FLAT]] {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>, train.staging} : (tensor<1x8xbf16>) -> tensor<1x4xbf16>
  // CHECK: train.convert %{{.*}} {train.staging} : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: dist.all_reduce %{{.*}} {axes = ["dp"], traffic = "gradients", train.staging} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[FIRST:.*]] = train.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: train.slice %[[FLAT]] {offsets = array<i64: 0, 4>
  // CHECK: %[[SECOND:.*]] = train.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: %[[SUM:.*]] = train.concat %[[FIRST]], %[[SECOND]] {dim = 0 : i64, train.gradients = array<i64: 0>}
  // CHECK: train.reshape %[[SUM]] : (tensor<8xbf16>) -> tensor<2x4xbf16>
  %0 = train.convert %g {train.staging} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
  %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients", train.staging} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = train.convert %1 {train.gradients = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  return %2 : tensor<2x4xbf16>
}

// Tests that a rank's part is of pieces of its own row.
// CHECK-LABEL: func.func @part
func.func @part(%g: tensor<8xbf16>) -> tensor<4xf32> {
  // CHECK: %[[ROWS:.*]] = train.reshape %{{.*}} : (tensor<8xbf16>) -> tensor<2x4xbf16>
  // CHECK: train.slice %[[ROWS]] {offsets = array<i64: 0, 0>, {{.*}}} : (tensor<2x4xbf16>) -> tensor<2x2xbf16>
  // CHECK: %[[FIRST:.*]] = dist.reduce_scatter %{{.*}} : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: train.slice %[[ROWS]] {offsets = array<i64: 0, 2>
  // CHECK: %[[SECOND:.*]] = dist.reduce_scatter %{{.*}} : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: train.concat %[[FIRST]], %[[SECOND]] {dim = 0 : i64, train.gradients = array<i64: 0>} : {{.*}} -> tensor<4xf32>
  %0 = train.convert %g {train.staging} : (tensor<8xbf16>) -> tensor<8xf32>
  %1 = dist.reduce_scatter %0 {axes = ["dp"], dim = 0 : i64, traffic = "gradients", train.gradients = array<i64: 0>} : (tensor<8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Tests that what is sent as it lies, or small, or no gradient, is left alone.
// CHECK-LABEL: func.func @left
// CHECK-NOT: train.slice
func.func @left(%g: tensor<8xf32>, %h: tensor<4xbf16>, %x: tensor<8xbf16>)
    -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %g {axes = ["dp"], traffic = "gradients"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.convert %h : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = dist.all_reduce %1 {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = train.convert %x : (tensor<8xbf16>) -> tensor<8xf32>
  %4 = dist.all_reduce %3 {axes = ["dp"], traffic = "activations"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %2, %4 : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
}

// Tests that a vector of one gradient is that gradient.
// CHECK-LABEL: func.func @alone
func.func @alone(%g: tensor<8xf32>) -> tensor<4xf32> {
  // CHECK-NOT: train.concat
  // CHECK: dist.reduce_scatter %{{.*}} {axes = ["dp"], dim = 0 : i64, traffic = "gradients", train.late}
  %0 = train.concat %g {dim = 0 : i64, train.staging, train.late} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dist.reduce_scatter %0 {axes = ["dp"], dim = 0 : i64, traffic = "gradients"} : (tensor<8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

}
