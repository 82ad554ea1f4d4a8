// RUN: zc-opt %s --split-input-file --zc-shard-parameters | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-shard-parameters --zc-build-backward \
// RUN:   --zc-build-optimizer-step="optimizer=sgd" --canonicalize --cse \
// RUN:   --zc-propagate-sharding --zc-insert-collectives --zc-verify-sharding \
// RUN:   | FileCheck %s --check-prefix=SUMS

// Tests that the features between two layers are divided: columns of the first
// with their bias, rows of the second, not its bias; and that of four layers
// two pairs are made. Sums are taken of the first pair's result, and of the
// gradient of what the second reads; its own result goes into a sum as it is.
// CHECK: @w1 {{.*}}dist.sharding = #dist.sharding<_,tp>, why = "rule auto: with b1, w2; leaves a rank {{[0-9.]+}} of {{[0-9.]+}} MFLOP of the forward, for sums of {{[0-9.]+}} MB"
// CHECK: @b1 {{.*}}dist.sharding = #dist.sharding<tp>
// CHECK: @w2 {{.*}}dist.sharding = #dist.sharding<tp,_>
// CHECK: @b2 "parameter" : tensor<8xf32>{{$}}
// CHECK: @w3 {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @w4 {{.*}}dist.sharding = #dist.sharding<tp,_>
// SUMS-LABEL: func.func @step
// SUMS-COUNT-2: dist.all_reduce {{.*}}traffic = "activations"
// SUMS-NOT: dist.{{.*}}traffic = "{{activations|gradients}}"
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w1 "parameter" : tensor<4x8xf32>
  train.state @b1 "parameter" : tensor<8xf32>
  train.state @w2 "parameter" : tensor<8x8xf32>
  train.state @b2 "parameter" : tensor<8xf32>
  train.state @w3 "parameter" : tensor<8x8xf32>
  train.state @w4 "parameter" : tensor<8x3xf32>
  func.func @step(%w1: tensor<4x8xf32> {train.state = @w1},
                  %b1: tensor<8xf32> {train.state = @b1},
                  %w2: tensor<8x8xf32> {train.state = @w2},
                  %b2: tensor<8xf32> {train.state = @b2},
                  %w3: tensor<8x8xf32> {train.state = @w3},
                  %w4: tensor<8x3xf32> {train.state = @w4},
                  %x: tensor<6x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %w1 : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    %1 = train.broadcast %b1 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<6x8xf32>
    %2 = train.add %0, %1 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %3 = train.relu %2 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %4 = train.matmul %3, %w2 : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %5 = train.broadcast %b2 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<6x8xf32>
    %6 = train.add %4, %5 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %7 = train.relu %6 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %8 = train.matmul %7, %w3 : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %9 = train.relu %8 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %10 = train.matmul %9, %w4 : (tensor<6x8xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
    %loss = train.reduce "sum" %10 {dims = array<i64: 0, 1>} : (tensor<6x3xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Tests a transformer's layer: heads of q, k, v (k and v have half as many) with
// the rows of o, a gated MLP's three matrices; norms whole. Two sums
// forward, two backward, none of gradients: the gradients of q, k and v (gate
// and up) by their input are added before they are reduced.
// CHECK: @scale "parameter" : tensor<8xf32>{{$}}
// CHECK: @q {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @k {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @v {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @o {{.*}}dist.sharding = #dist.sharding<tp,_>
// CHECK: @gate {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @up {{.*}}dist.sharding = #dist.sharding<_,tp>
// CHECK: @down {{.*}}dist.sharding = #dist.sharding<tp,_>
// SUMS-LABEL: func.func @step
// SUMS: train.attention
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS: train.sigmoid
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS: train.layer_norm_grad
// SUMS-NOT: traffic = "{{activations|gradients}}"
// SUMS: train.attention_grad
// SUMS-NOT: traffic = "gradients"
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS: train.layer_norm_grad
// SUMS-NOT: traffic = "{{activations|gradients}}"
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @place "parameter" : tensor<3x8xf32>
  train.state @scale "parameter" : tensor<8xf32>
  train.state @shift "parameter" : tensor<8xf32>
  train.state @q "parameter" : tensor<8x8xf32>
  train.state @k "parameter" : tensor<8x4xf32>
  train.state @v "parameter" : tensor<8x4xf32>
  train.state @o "parameter" : tensor<8x8xf32>
  train.state @gate "parameter" : tensor<8x12xf32>
  train.state @up "parameter" : tensor<8x12xf32>
  train.state @down "parameter" : tensor<12x8xf32>
  func.func @step(%place: tensor<3x8xf32> {train.state = @place},
                  %scale: tensor<8xf32> {train.state = @scale},
                  %shift: tensor<8xf32> {train.state = @shift},
                  %wq: tensor<8x8xf32> {train.state = @q},
                  %wk: tensor<8x4xf32> {train.state = @k},
                  %wv: tensor<8x4xf32> {train.state = @v},
                  %wo: tensor<8x8xf32> {train.state = @o},
                  %gate: tensor<8x12xf32> {train.state = @gate},
                  %up: tensor<8x12xf32> {train.state = @up},
                  %down: tensor<12x8xf32> {train.state = @down},
                  %x: tensor<2x3x8xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %p = train.broadcast %place {dims = array<i64: 1, 2>} : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
    %h = train.add %x, %p : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %n, %mean, %rstd = train.layer_norm %h, %scale, %shift {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %f = train.reshape %n : (tensor<2x3x8xf32>) -> tensor<6x8xf32>
    %0 = train.matmul %f, %wq : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %1 = train.matmul %f, %wk : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    %2 = train.matmul %f, %wv : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    %3 = train.reshape %0 : (tensor<6x8xf32>) -> tensor<2x3x4x2xf32>
    %4 = train.reshape %1 : (tensor<6x4xf32>) -> tensor<2x3x2x2xf32>
    %5 = train.reshape %2 : (tensor<6x4xf32>) -> tensor<2x3x2x2xf32>
    %6 = train.broadcast %4 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2x2xf32>
    %7 = train.broadcast %5 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2x2xf32>
    %8 = train.reshape %6 : (tensor<2x3x2x2x2xf32>) -> tensor<2x3x4x2xf32>
    %9 = train.reshape %7 : (tensor<2x3x2x2x2xf32>) -> tensor<2x3x4x2xf32>
    %a, %lse = train.attention %3, %8, %9 {causal, scale = 0.7 : f64} : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>)
    %10 = train.reshape %a : (tensor<2x3x4x2xf32>) -> tensor<6x8xf32>
    %11 = train.matmul %10, %wo : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %12 = train.reshape %11 : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
    %r = train.add %h, %12 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %m, %mean1, %rstd1 = train.layer_norm %r, %scale, %shift {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %13 = train.reshape %m : (tensor<2x3x8xf32>) -> tensor<6x8xf32>
    %14 = train.matmul %13, %gate : (tensor<6x8xf32>, tensor<8x12xf32>) -> tensor<6x12xf32>
    %15 = train.matmul %13, %up : (tensor<6x8xf32>, tensor<8x12xf32>) -> tensor<6x12xf32>
    %16 = train.sigmoid %14 : (tensor<6x12xf32>) -> tensor<6x12xf32>
    %17 = train.mul %16, %15 : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<6x12xf32>
    %18 = train.matmul %17, %down : (tensor<6x12xf32>, tensor<12x8xf32>) -> tensor<6x8xf32>
    %19 = train.reshape %18 : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
    %20 = train.add %r, %19 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %21 = train.mul %20, %20 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %loss = train.reduce "sum" %21 {dims = array<i64: 0, 1, 2>} : (tensor<2x3x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Tests a vocabulary that is divided for the embedding and the loss, which share
// its table: ids are looked up in a rank's own rows, and only sums per sample
// meet: the embedding, the parts' log sum exps, the picked logits, and the
// gradient of what the last layer reads; the table's gradient stays divided.
// CHECK: @words {{.*}}dist.sharding = #dist.sharding<tp,_>
// SUMS-LABEL: func.func @step
// SUMS: train.gather {{.*}}tensor<2x5x4xf32>
// SUMS: dist.all_reduce {{.*}}traffic = "activations"
// SUMS: train.softmax_cross_entropy
// SUMS: dist.all_gather {{.*}}traffic = "activations"} : (tensor<6x2xf32>)
// SUMS: dist.all_reduce {{.*}}traffic = "activations"} : (tensor<6xf32>)
// SUMS: train.softmax_cross_entropy_grad
// SUMS: dist.all_reduce {{.*}}traffic = "activations"} : (tensor<6x4xf32>)
// SUMS: train.scatter_add {{.*}}tensor<2x5x4xf32>
// SUMS-NOT: traffic = "{{activations|gradients}}"
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @words "parameter" : tensor<10x4xf32>
  func.func @step(%words: tensor<10x4xf32> {train.state = @words},
                  %ids: tensor<6xi64> {train.input = "ids", train.batch_dim = 0 : i64},
                  %labels: tensor<6xi64> {train.input = "labels", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.gather %words, %ids {dim = 0 : i64} : (tensor<10x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
    %1 = train.tanh %0 : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %2 = train.matmul %1, %words {transpose_rhs} : (tensor<6x4xf32>, tensor<10x4xf32>) -> tensor<6x10xf32>
    %3, %lse = train.softmax_cross_entropy %2, %labels {ignore_index = -100 : i64} : (tensor<6x10xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)
    %loss = train.reduce "sum" %3 {dims = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
