// RUN: zc-opt %s --zc-chunk-cross-entropy="axis=tp sample-parts=2 min-bytes=1" \
// RUN:   | FileCheck %s
// RUN: zc-opt %s --zc-chunk-cross-entropy="axis=tp sample-parts=2 min-bytes=1" \
// RUN:   --zc-annotate-mesh=mesh=dp=2,tp=2 --zc-propagate-sharding \
// RUN:   --zc-insert-collectives --zc-verify-sharding --zc-localize \
// RUN:   --canonicalize --cse --zc-accumulate-in-place --zc-chunk-cross-entropy \
// RUN:   | FileCheck %s --check-prefix=PARTS
// RUN: zc-opt %s --zc-chunk-cross-entropy="axis=dp sample-parts=2 min-bytes=1" \
// RUN:   | FileCheck %s --check-prefix=LEFT

// Tests logits whose classes tp divides: of each of dp's two ranks 128 samples
// make a chunk, in which the parts' log sum exps meet before the gradient is
// made; the weight's gradient is added in place, and reduced once at the end, as
// the gradient of what the layer reads. A rank's logits never exist whole.
// CHECK-LABEL: func.func @step
// CHECK: train.slice {{.*}}offsets = array<i64: 0, 0, 0>{{.*}} : (tensor<2x256x4xf32>) -> tensor<2x128x4xf32>
// CHECK: train.matmul {{.*}}transpose_rhs{{.*}} -> tensor<256x10xf32>
// CHECK: train.softmax_cross_entropy
// CHECK: train.slice {{.*}}offsets = array<i64: 0, 128, 0>
// CHECK: train.add {{.*}}in_place, train.gradients = array<i64: 0>
// CHECK: train.concat {{.*}}dim = 1 {{.*}} -> tensor<2x256x4xf32>
// PARTS-LABEL: func.func @step
// PARTS-NOT: tensor<256x5xf32>
// PARTS: train.matmul {{.*}} -> tensor<128x5xf32>
// PARTS: dist.all_gather {{.*}}axes = ["tp"]
// PARTS: dist.all_reduce {{.*}}axes = ["tp"]
// PARTS: train.softmax_cross_entropy_grad
// PARTS: train.softmax_cross_entropy_grad
// PARTS-DAG: train.matmul_add
// PARTS-DAG: dist.all_reduce {{.*}}axes = ["dp"], traffic = "gradients"
// PARTS-DAG: dist.all_reduce {{.*}}axes = ["tp"], traffic = "activations"} : (tensor<256x4xf32>)
// PARTS-NOT: tensor<256x5xf32>
// LEFT-LABEL: func.func @step
// LEFT-NOT: train.slice
module attributes {dist.mesh = #dist.mesh<dp=2, tp=2>} {
  train.state @w "parameter" : tensor<10x4xf32> {dist.sharding = #dist.sharding<tp,_>}
  func.func @step(%x: tensor<512x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %w: tensor<10x4xf32> {train.state = @w},
                  %t: tensor<512xi64> {train.input = "labels", train.batch_dim = 0 : i64, train.range = array<i64: 0, 10>},
                  %s: tensor<f32> {train.input = "s"})
      -> (tensor<f32> {train.metric = "loss"}, tensor<10x4xf32> {train.metric = "dw"}, tensor<4xf32> {train.metric = "dx"}) {
    %0 = train.tanh %x : (tensor<512x4xf32>) -> tensor<512x4xf32>
    %1 = train.matmul %0, %w {transpose_rhs} : (tensor<512x4xf32>, tensor<10x4xf32>) -> tensor<512x10xf32>
    %each, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
        : (tensor<512x10xf32>, tensor<512xi64>) -> (tensor<512xf32>, tensor<512xf32>)
    %5 = train.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<512xf32>
    %6 = train.softmax_cross_entropy_grad %1, %t, %lse, %5 {ignore_index = -100 : i64}
        : (tensor<512x10xf32>, tensor<512xi64>, tensor<512xf32>, tensor<512xf32>) -> tensor<512x10xf32>
    %8 = train.matmul %6, %w : (tensor<512x10xf32>, tensor<10x4xf32>) -> tensor<512x4xf32>
    %9 = train.matmul %6, %0 {train.gradients = array<i64: 0>, transpose_lhs} : (tensor<512x10xf32>, tensor<512x4xf32>) -> tensor<10x4xf32>
    %loss = train.reduce "sum" %each {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<f32>
    %10 = train.mul %8, %8 : (tensor<512x4xf32>, tensor<512x4xf32>) -> tensor<512x4xf32>
    %dx = train.reduce "sum" %10 {dims = array<i64: 0>} : (tensor<512x4xf32>) -> tensor<4xf32>
    return %loss, %9, %dx : tensor<f32>, tensor<10x4xf32>, tensor<4xf32>
  }
}
