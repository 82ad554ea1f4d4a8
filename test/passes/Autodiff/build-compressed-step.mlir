// RUN: zc-opt %s --zc-build-optimizer-step=optimizer=onebit-adam --zc-build-compressed-step=axes=dp | FileCheck %s
// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,tp=2" --zc-build-optimizer-step=optimizer=onebit-adam --zc-build-compressed-step=axes=dp,ep | FileCheck %s --check-prefix=RANKS

// Tests that every rank keeps what its compression loses: of whole parameters
// one share, of those that tp divides two, padded to bytes for every rank.
train.state @w "parameter" : tensor<6x4xf32> {dist.sharding = #dist.sharding<_,tp>}
train.state @b "parameter" : tensor<5xf32>
// CHECK-DAG: train.state @state.b.worker_error "optimizer" : tensor<1x1x8xf32> {parameter = "b", per_rank, slot = "worker_error"}
// CHECK-DAG: train.state @state.b.server_error "optimizer" : tensor<1x1x8xf32> {parameter = "b", per_rank, slot = "server_error"}
// CHECK-DAG: train.state @optimizer.variance_step "scalar" : tensor<i64>
// RANKS-DAG: train.state @state.w.worker_error "optimizer" : tensor<2x2x16xf32> {dist.sharding = #dist.sharding<dp,tp,_>{{.*}}per_rank
// RANKS-DAG: train.state @state.w.server_error "optimizer" : tensor<2x2x8xf32> {dist.sharding = #dist.sharding<tp,dp,_>{{.*}}per_rank
// RANKS-DAG: train.state @state.b.worker_error "optimizer" : tensor<2x1x16xf32> {dist.sharding = #dist.sharding<dp,_,_>{{.*}}per_rank

// The warm-up counts its steps and changes the second moments; later steps leave
// both alone.
// CHECK-LABEL: func.func @apply(
// CHECK-SAME: -> ({{.*}}train.state = @optimizer.variance_step{{.*}}train.state = @state.w.exp_avg_sq
// CHECK-LABEL: func.func @apply.compressed(
// CHECK-SAME: train.state = @optimizer.variance_step
// CHECK-SAME: ->
// CHECK-NOT: train.state = @state.w.exp_avg_sq{{.*}}{
// CHECK-NOT: dist.terms
// CHECK-NOT: dist.reshard
// CHECK: train.convert %{{.*}} : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xui8>

// RANKS-LABEL: func.func @apply.compressed(
// RANKS: dist.terms %{{.*}} {axes = ["dp"]} : (tensor<2x16xf32>) -> tensor<2x2x16xf32>
// RANKS: dist.terms %{{.*}} {axes = ["dp"]} : (tensor<1x16xf32>) -> tensor<2x1x16xf32>
// Bits of every chunk by themselves.
// RANKS: train.reshape %{{.*}} : (tensor<2x2x16xf32>) -> tensor<2x2x2x8x1xf32>
// The messages: signs to the ranks of their chunks, scales to all, and back.
// RANKS: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<_,tp,dp,_>, dist.traffic = "gradients"} : tensor<2x2x2x1xui8>
// RANKS: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<_,tp,_>, dist.traffic = "gradients"} : tensor<2x2x1xf32>
// RANKS: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<tp,_,_>, dist.traffic = "gradients"} : tensor<2x2x1xui8>
// RANKS: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<tp,_,_>, dist.traffic = "gradients"} : tensor<2x2x1xf32>
// RANKS: dist.reshard %{{.*}} {dist.sharding = #dist.sharding<_,_,dp,_>, dist.traffic = "gradients"} : tensor<2x1x2x1xui8>
func.func @apply(%w: tensor<6x4xf32> {train.state = @w}, %b: tensor<5xf32> {train.state = @b})
    -> (tensor<6x4xf32> {train.gradient = @w}, tensor<5xf32> {train.gradient = @b}) {
  return %w, %b : tensor<6x4xf32>, tensor<5xf32>
}
