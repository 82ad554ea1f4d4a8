// RUN: zc-opt %s --split-input-file --zc-shard-parameters="shard=w=tp,-;b=tp" | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-shard-parameters="shard=w=tp,-;b=tp" \
// RUN:   --zc-build-backward --zc-build-optimizer-step="optimizer=adam" \
// RUN:   --zc-build-init --canonicalize --cse --zc-propagate-sharding \
// RUN:   --zc-insert-collectives --zc-verify-sharding --zc-localize \
// RUN:   | FileCheck %s --check-prefix=PARTS

// Tests 6 rows among 4 ranks: the matrix has 8 in programs and 6 in files, what
// it makes is cut off, and the bias, of which the op only makes more, before.
// CHECK: dist.notes = ["dim 0 of w has 6 elements and 2 zeros behind them, to divide among 4 ranks"
// CHECK: @w "parameter" : tensor<8x5xf32> {dist.sharding = #dist.sharding<tp,_>, dist.whole = tensor<6x5xf32>
// CHECK: @b "parameter" : tensor<8xf32> {dist.sharding = #dist.sharding<tp>, dist.whole = tensor<6xf32>
// CHECK-LABEL: func.func @step
// CHECK: %[[Y:.*]] = train.matmul %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<3x5xf32>, tensor<8x5xf32>) -> tensor<3x8xf32>
// CHECK: train.slice %[[Y]] {{.*}}(tensor<3x8xf32>) -> tensor<3x6xf32>
// CHECK: train.slice {{.*}}(tensor<8xf32>) -> tensor<6xf32>
// PARTS: @w "parameter" : tensor<2x5xf32> {{.*}}dist.whole = tensor<6x5xf32>
// PARTS: @state.w.exp_avg "optimizer" : tensor<2x5xf32> {{.*}}dist.whole = tensor<6x5xf32>
// PARTS: func.func @step(%{{.*}}: tensor<2x5xf32> {{.*}}dist.whole = tensor<6x5xf32>
// PARTS-LABEL: func.func @init
// PARTS: train.random_normal {{.*}}tensor<6x5xf32>
// PARTS: train.pad {{.*}}(tensor<6x5xf32>) -> tensor<8x5xf32>
module attributes {dist.mesh = #dist.mesh<tp=4>} {
  train.state @w "parameter" : tensor<6x5xf32> {draw = {index = 0 : i64, normal = 1.0 : f64}}
  train.state @b "parameter" : tensor<6xf32>
  func.func @step(%w: tensor<6x5xf32> {train.state = @w},
                  %b: tensor<6xf32> {train.state = @b},
                  %x: tensor<3x5xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %w {transpose_rhs} : (tensor<3x5xf32>, tensor<6x5xf32>) -> tensor<3x6xf32>
    %1 = train.broadcast %b {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<3x6xf32>
    %2 = train.add %0, %1 : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
    %3 = train.softmax %2 {dim = 1 : i64} : (tensor<3x6xf32>) -> tensor<3x6xf32>
    %loss = train.reduce "sum" %3 {dims = array<i64: 0, 1>} : (tensor<3x6xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Tests a dim that is summed over: the other operand gets zeros, and nothing is
// cut off.
// CHECK-LABEL: func.func @step
// CHECK: %[[X:.*]] = train.pad %{{.*}} : (tensor<3x6xf32>) -> tensor<3x8xf32>
// CHECK: train.matmul %[[X]], %{{.*}} : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
// CHECK-NOT: train.slice
// PARTS-LABEL: func.func @step
// PARTS: dist.all_reduce
module attributes {dist.mesh = #dist.mesh<tp=4>} {
  train.state @w "parameter" : tensor<6x5xf32> {draw = {constant = 1.0 : f64}}
  train.state @b "parameter" : tensor<4xf32>
  func.func @step(%w: tensor<6x5xf32> {train.state = @w},
                  %b: tensor<4xf32> {train.state = @b},
                  %x: tensor<3x6xf32> {train.input = "x", train.batch_dim = 0 : i64})
      -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %w : (tensor<3x6xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>
    %1 = train.softmax %0 {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %loss = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<3x5xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
