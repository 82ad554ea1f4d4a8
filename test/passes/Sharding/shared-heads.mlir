// RUN: zc-opt %s --zc-shard-parameters | FileCheck %s
// RUN: zc-opt %s --zc-shard-parameters --zc-build-backward \
// RUN:   --zc-build-optimizer-step="optimizer=sgd" --canonicalize --cse \
// RUN:   --zc-propagate-sharding --zc-insert-collectives --zc-verify-sharding \
// RUN:   --zc-localize --canonicalize --cse | FileCheck %s --check-prefix=RANK
// RUN: zc-opt %s --zc-shard-parameters="shard=q=-,-" \
// RUN:   | FileCheck %s --check-prefix=WHOLE

// Tests heads of keys that are fewer than ranks, and do not divide: 6 heads of
// queries, 2 of keys, 3 ranks. From the parameters on they are repeated to 6,
// the least multiple of both; keys have a bias and are scaled, by a value for
// all heads. The parameters stay whole.
// CHECK: @q {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @k "parameter" : tensor<6x64xf32>{{$}}
// CHECK: @bias "parameter" : tensor<64xf32>{{$}}
// CHECK: @v "parameter" : tensor<6x64xf32>{{$}}
// CHECK: @o {{.*}}dist.sharding = #dist.sharding<tp,_>
// CHECK-LABEL: func.func @step
// CHECK: %[[BLOCKS:.*]] = train.reshape %arg3 : (tensor<6x64xf32>) -> tensor<6x2x32xf32>
// CHECK: %[[INDICES:.*]] = train.constant dense<[0, 0, 0, 1, 1, 1]>
// CHECK: %[[COPIES:.*]] = train.gather %[[BLOCKS]], %[[INDICES]] {dim = 1 : i64} {{.*}} -> tensor<6x6x32xf32>
// CHECK: %[[K:.*]] = train.reshape %[[COPIES]] {{.*}} -> tensor<6x192xf32>
// CHECK: train.matmul %{{.*}}, %[[K]] : {{.*}} -> tensor<6x192xf32>
// CHECK: train.gather %{{.*}} : (tensor<2x32xf32>, tensor<6xi64>) -> tensor<6x32xf32>
// CHECK: train.add {{.*}} -> tensor<6x192xf32>
// CHECK: train.mul {{.*}} -> tensor<2x3x6x32xf32>
// CHECK: train.broadcast {{.*}} : (tensor<2x3x6x32xf32>) -> tensor<2x3x6x1x32xf32>
// CHECK-NOT: tensor<2x3x2x32xf32>
// CHECK: train.attention
// CHECK: return

// Tests what a rank does: it reads the columns of its own heads, in the
// backward once more, and adds gradients of the whole parameters up.
// RANK-LABEL: func.func @step
// RANK: %[[OWN:.*]] = train.gather %{{.*}} {dim = 1 : i64} : (tensor<6x2x32xf32>, tensor<2xi64>) -> tensor<6x2x32xf32>
// RANK: train.attention {{.*}} : (tensor<2x3x2x32xf32>, tensor<2x3x2x32xf32>, tensor<2x3x2x32xf32>)
// RANK: train.attention_grad
// RANK-DAG: train.gather {{.*}}dist.pass = "backward"{{.*}} -> tensor<6x2x32xf32>
// RANK-DAG: %[[TERM:.*]] = train.scatter_add {{.*}} -> tensor<6x2x32xf32>
// RANK-DAG: dist.all_reduce %[[TERM]] {{.*}}traffic = "gradients"

// Tests that heads which nobody divides are not repeated.
// WHOLE-LABEL: func.func @step
// WHOLE-NOT: train.gather
// WHOLE: train.attention
module attributes {dist.mesh = #dist.mesh<tp=3>} {
  train.state @gain "parameter" : tensor<6xf32>
  train.state @shift "parameter" : tensor<6xf32>
  train.state @q "parameter" : tensor<6x192xf32>
  train.state @k "parameter" : tensor<6x64xf32>
  train.state @bias "parameter" : tensor<64xf32>
  train.state @v "parameter" : tensor<6x64xf32>
  train.state @o "parameter" : tensor<192x6xf32>
  func.func @step(%gain: tensor<6xf32> {train.state = @gain},
                  %shift: tensor<6xf32> {train.state = @shift},
                  %wq: tensor<6x192xf32> {train.state = @q},
                  %wk: tensor<6x64xf32> {train.state = @k},
                  %bias: tensor<64xf32> {train.state = @bias},
                  %wv: tensor<6x64xf32> {train.state = @v},
                  %wo: tensor<192x6xf32> {train.state = @o},
                  %scale: tensor<1x3x1x32xf32> {train.input = "scale"},
                  %x: tensor<2x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %h, %mean, %rstd = train.layer_norm %x, %gain, %shift {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %f = train.reshape %h : (tensor<2x3x6xf32>) -> tensor<6x6xf32>
    %0 = train.matmul %f, %wq : (tensor<6x6xf32>, tensor<6x192xf32>) -> tensor<6x192xf32>
    %1 = train.matmul %f, %wk : (tensor<6x6xf32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    %b = train.broadcast %bias {dims = array<i64: 1>} : (tensor<64xf32>) -> tensor<6x64xf32>
    %k = train.add %1, %b : (tensor<6x64xf32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    %2 = train.matmul %f, %wv : (tensor<6x6xf32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    %3 = train.reshape %0 : (tensor<6x192xf32>) -> tensor<2x3x6x32xf32>
    %4 = train.reshape %k : (tensor<6x64xf32>) -> tensor<2x3x2x32xf32>
    %s = train.broadcast %scale {dims = array<i64: 0, 1, 2, 3>} : (tensor<1x3x1x32xf32>) -> tensor<2x3x2x32xf32>
    %r = train.mul %4, %s : (tensor<2x3x2x32xf32>, tensor<2x3x2x32xf32>) -> tensor<2x3x2x32xf32>
    %5 = train.reshape %2 : (tensor<6x64xf32>) -> tensor<2x3x2x32xf32>
    %6 = train.broadcast %r {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x32xf32>) -> tensor<2x3x2x3x32xf32>
    %7 = train.broadcast %5 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x32xf32>) -> tensor<2x3x2x3x32xf32>
    %8 = train.reshape %6 : (tensor<2x3x2x3x32xf32>) -> tensor<2x3x6x32xf32>
    %9 = train.reshape %7 : (tensor<2x3x2x3x32xf32>) -> tensor<2x3x6x32xf32>
    %a, %lse = train.attention %3, %8, %9 {causal, scale = 0.7 : f64} : (tensor<2x3x6x32xf32>, tensor<2x3x6x32xf32>, tensor<2x3x6x32xf32>) -> (tensor<2x3x6x32xf32>, tensor<2x6x3xf32>)
    %10 = train.reshape %a : (tensor<2x3x6x32xf32>) -> tensor<6x192xf32>
    %11 = train.matmul %10, %wo : (tensor<6x192xf32>, tensor<192x6xf32>) -> tensor<6x6xf32>
    %12 = train.mul %11, %11 : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %loss = train.reduce "sum" %12 {dims = array<i64: 0, 1>} : (tensor<6x6xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
