// RUN: zc-opt %s --split-input-file --zc-divide-messages | FileCheck %s

// Tests that both ends of a message are divided over tp, along the first dim
// behind the samples' that divides, and that what is received is gathered at
// once, and what is sent whole until then; other arguments and results stay.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[H:[a-z0-9]+]]: tensor<8x4x6xf32> {dist.sharding = #dist.sharding<dp,tp,_>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<6x6xf32>)
// CHECK-SAME: -> (tensor<8x3x6xf32> {dist.sharding = #dist.sharding<_,_,tp>, {{.*}}train.send
// CHECK: %[[G:.*]] = dist.reshard %[[H]] {dist.sharding = #dist.sharding<dp,_,_>, dist.traffic = "activations"}
// CHECK: train.add %[[G]], %[[G]]
// CHECK: %[[S:.*]] = train.slice
// CHECK: %[[R:.*]] = dist.reshard %[[S]] {dist.sharding = #dist.sharding<dp,_,_>, dist.traffic = "activations"}
// CHECK: return %[[R]], %{{.*}}
module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  func.func @forward(%h: tensor<8x4x6xf32> {dist.sharding = #dist.sharding<dp,_,_>, train.batch_dim = 0 : i64, train.receive = {id = 0 : i64, peer = 0 : i64}},
                     %w: tensor<6x6xf32>)
      -> (tensor<8x3x6xf32> {train.batch_dim = 0 : i64, train.send = {id = 2 : i64, peer = 2 : i64}},
          tensor<8x4x6xf32>) {
    %0 = train.add %h, %h : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %1 = train.slice %0 {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<8x4x6xf32>) -> tensor<8x3x6xf32>
    return %1, %0 : tensor<8x3x6xf32>, tensor<8x4x6xf32>
  }
}

// -----

// Tests that messages stay whole where no dim divides, and without the axis.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: dist.reshard
// CHECK: return
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  func.func @forward(%h: tensor<8x3xf32> {train.batch_dim = 0 : i64, train.receive = {id = 0 : i64, peer = 0 : i64}}) -> tensor<8x3xf32> {
    return %h : tensor<8x3xf32>
  }
}

// -----

// CHECK-LABEL: func.func @forward
// CHECK-NOT: dist.reshard
// CHECK: return
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @forward(%h: tensor<8x4xf32> {train.batch_dim = 0 : i64, train.receive = {id = 0 : i64, peer = 0 : i64}}) -> tensor<8x4xf32> {
    return %h : tensor<8x4xf32>
  }
}
