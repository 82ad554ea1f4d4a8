// RUN: zc-opt %s --split-input-file --zc-shard-parameters | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-shard-parameters --zc-build-backward \
// RUN:   --zc-build-optimizer-step="optimizer=adam" --canonicalize --cse \
// RUN:   --zc-propagate-sharding --zc-insert-collectives --zc-verify-sharding \
// RUN:   | FileCheck %s --check-prefix=SUMS
// RUN: zc-opt %s --split-input-file --zc-shard-parameters="automatic=false" \
// RUN:   | FileCheck %s --check-prefix=LEFT

// Tests one matrix for q, k and v: each of its blocks is divided by heads, as
// the bias and the moments are, and both programs cut them in parts. One sum
// forward, one backward; nothing is gathered.
// CHECK: @qkv {{.*}}blocks = [array<i64>, array<i64: 8, 4, 4>], dist.sharding = #dist.sharding<_,tp>, why = "rule auto: with bias, o; leaves a rank {{.*}} of dim 1 each of the blocks of 8, 4, 4 by itself"
// CHECK: @bias {{.*}}blocks = [array<i64: 8, 4, 4>], dist.sharding = #dist.sharding<tp>
// CHECK: @o {{.*}}{dist.sharding = #dist.sharding<tp,_>
// CHECK-LABEL: func.func @step
// CHECK: %[[VIEW:.*]] = train.reshape {{.*}}tensor<6x16xf32>) -> tensor<6x2x8xf32>
// CHECK: %[[PARTS:.*]]:3 = train.split %[[VIEW]] {dim = 2 : i64} : (tensor<6x2x8xf32>) -> (tensor<6x2x4xf32>, tensor<6x2x2xf32>, tensor<6x2x2xf32>)
// CHECK: train.reshape %[[PARTS]]#0 : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
// CHECK-LABEL: func.func @eval
// CHECK: train.split {{.*}} : (tensor<6x2x8xf32>)
// SUMS: @state.qkv.exp_avg {{.*}}blocks = [array<i64>, array<i64: 8, 4, 4>], dist.sharding = #dist.sharding<_,tp>
// SUMS-LABEL: func.func @step
// SUMS-NOT: dist.all_gather
// SUMS: train.attention
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS-NOT: traffic
// SUMS: train.attention_grad
// SUMS: train.concat {{.*}}dim = 2 {{.*}} -> tensor<6x2x8xf32>
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS-NOT: dist.{{.*}}traffic = "{{activations|gradients}}"
// SUMS-LABEL: func.func @eval
// Where nothing is divided the split is as it was.
// LEFT: @qkv "parameter" : tensor<8x16xf32>{{$}}
// LEFT-LABEL: func.func @step
// LEFT: train.split {{.*}}(tensor<6x16xf32>) -> (tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @scale "parameter" : tensor<8xf32>
  train.state @shift "parameter" : tensor<8xf32>
  train.state @qkv "parameter" : tensor<8x16xf32>
  train.state @bias "parameter" : tensor<16xf32>
  train.state @o "parameter" : tensor<8x8xf32>
  func.func @step(%scale: tensor<8xf32> {train.state = @scale},
                  %shift: tensor<8xf32> {train.state = @shift},
                  %qkv: tensor<8x16xf32> {train.state = @qkv},
                  %bias: tensor<16xf32> {train.state = @bias},
                  %o: tensor<8x8xf32> {train.state = @o},
                  %x: tensor<6x8xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %n, %mean, %rstd = train.layer_norm %x, %scale, %shift {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6xf32>, tensor<6xf32>)
    %0 = train.matmul %n, %qkv : (tensor<6x8xf32>, tensor<8x16xf32>) -> tensor<6x16xf32>
    %1 = train.broadcast %bias {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<6x16xf32>
    %2 = train.add %0, %1 : (tensor<6x16xf32>, tensor<6x16xf32>) -> tensor<6x16xf32>
    %q, %k, %v = train.split %2 {dim = 1 : i64} : (tensor<6x16xf32>) -> (tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
    %3 = train.reshape %q : (tensor<6x8xf32>) -> tensor<2x3x4x2xf32>
    %4 = train.reshape %k : (tensor<6x4xf32>) -> tensor<2x3x2x2xf32>
    %5 = train.reshape %v : (tensor<6x4xf32>) -> tensor<2x3x2x2xf32>
    %6 = train.broadcast %4 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2x2xf32>
    %7 = train.broadcast %5 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2x2xf32>
    %8 = train.reshape %6 : (tensor<2x3x2x2x2xf32>) -> tensor<2x3x4x2xf32>
    %9 = train.reshape %7 : (tensor<2x3x2x2x2xf32>) -> tensor<2x3x4x2xf32>
    %a, %lse = train.attention %3, %8, %9 {causal, scale = 0.7 : f64} : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>)
    %10 = train.reshape %a : (tensor<2x3x4x2xf32>) -> tensor<6x8xf32>
    %11 = train.matmul %10, %o : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %whole, %mean1, %rstd1 = train.layer_norm %n, %scale, %shift {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6xf32>, tensor<6xf32>)
    %normed, %mean2, %rstd2 = train.layer_norm %11, %scale, %shift {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6xf32>, tensor<6xf32>)
    %12 = train.mul %normed, %whole : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %loss = train.reduce "sum" %12 {dims = array<i64: 0, 1>} : (tensor<6x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func @eval(%qkv: tensor<8x16xf32> {train.state = @qkv},
                  %bias: tensor<16xf32> {train.state = @bias},
                  %x: tensor<6x8xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> tensor<6x8xf32> {
    %0 = train.matmul %x, %qkv : (tensor<6x8xf32>, tensor<8x16xf32>) -> tensor<6x16xf32>
    %1 = train.broadcast %bias {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<6x16xf32>
    %2 = train.add %0, %1 : (tensor<6x16xf32>, tensor<6x16xf32>) -> tensor<6x16xf32>
    %q, %k, %v = train.split %2 {dim = 1 : i64} : (tensor<6x16xf32>) -> (tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
    return %q : tensor<6x8xf32>
  }
}

// -----

// Tests a reshape that cuts in three: the blocks come in front of the parts.
// CHECK: @qkv {{.*}}blocks = [array<i64>, array<i64: 4, 4, 4>]
// CHECK-LABEL: func.func @step
// CHECK: %[[VIEW:.*]] = train.reshape {{.*}}(tensor<6x12xf32>) -> tensor<6x2x3x2xf32>
// CHECK: %[[BLOCKS:.*]] = train.transpose %[[VIEW]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: train.reshape %[[BLOCKS]] : (tensor<6x3x2x2xf32>) -> tensor<6x3x4xf32>
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @qkv "parameter" : tensor<4x12xf32>
  train.state @o "parameter" : tensor<4x4xf32>
  func.func @step(%qkv: tensor<4x12xf32> {train.state = @qkv},
                  %o: tensor<4x4xf32> {train.state = @o},
                  %x: tensor<6x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %qkv : (tensor<6x4xf32>, tensor<4x12xf32>) -> tensor<6x12xf32>
    %1 = train.reshape %0 : (tensor<6x12xf32>) -> tensor<6x3x4xf32>
    %2 = train.slice %1 {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<6x3x4xf32>) -> tensor<6x1x4xf32>
    %3 = train.slice %1 {offsets = array<i64: 0, 2, 0>, strides = array<i64: 1, 1, 1>} : (tensor<6x3x4xf32>) -> tensor<6x1x4xf32>
    %4 = train.mul %2, %3 : (tensor<6x1x4xf32>, tensor<6x1x4xf32>) -> tensor<6x1x4xf32>
    %5 = train.reshape %4 : (tensor<6x1x4xf32>) -> tensor<6x4xf32>
    %6 = train.matmul %5, %o : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
    %loss = train.reduce "sum" %6 {dims = array<i64: 0, 1>} : (tensor<6x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Tests a matrix that another program reads in order: it is not reordered.
// CHECK: @qkv "parameter" : tensor<4x8xf32> {dist.sharding = #dist.sharding<tp,_>
// CHECK-LABEL: func.func @step
// CHECK: train.split {{.*}}(tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @qkv "parameter" : tensor<4x8xf32>
  train.state @o "parameter" : tensor<4x4xf32>
  func.func @step(%qkv: tensor<4x8xf32> {train.state = @qkv},
                  %o: tensor<4x4xf32> {train.state = @o},
                  %x: tensor<6x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %qkv : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    %a, %b = train.split %0 {dim = 1 : i64} : (tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
    %1 = train.mul %a, %b : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    %2 = train.softmax %1 {dim = 1 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %loss = train.reduce "sum" %2 {dims = array<i64: 0, 1>} : (tensor<6x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func @eval(%qkv: tensor<4x8xf32> {train.state = @qkv}) -> tensor<4x8xf32> {
    %0 = train.softmax %qkv {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
