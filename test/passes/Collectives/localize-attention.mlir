// RUN: zc-opt %s --zc-find-tokens="parts=4 attention=ring" --zc-annotate-mesh="mesh=dp=2,sp=4" --zc-propagate-sharding --zc-insert-collectives --zc-localize --canonicalize --cse --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-find-tokens="parts=4 attention=gather" --zc-annotate-mesh="mesh=dp=2,sp=4" --zc-propagate-sharding --zc-insert-collectives --zc-localize --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=GATHER

// Tests a ring: each turn's keys and values are on their way before the block
// that they hide behind; three turns forward. The backward begins with the keys
// of the last, and takes three turns back: with the last come the rank's own,
// and their gradients.
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: dist.send_receive {{.*}}dist.pass = "forward"{{.*}}tensor<1x4x3x6xf32>
// CHECK: train.attention %{{.*}} {scale = 1.000000e+00 : f64} : (tensor<1x4x3x6xf32>
// CHECK-COUNT-2: dist.send_receive {{.*}}dist.pass = "forward"
// CHECK: train.attention
// CHECK: %[[K:.*]] = dist.send_receive {{.*}}dist.pass = "forward"{{.*}}shift = 1
// CHECK: %[[V:.*]] = dist.send_receive {{.*}}dist.pass = "forward"{{.*}}shift = 1
// CHECK-COUNT-2: train.attention
// CHECK-NOT: dist.pass = "forward"
// CHECK: dist.send_receive %[[K]] {{.*}}dist.pass = "backward"{{.*}}shift = -1
// CHECK: dist.send_receive %[[V]] {{.*}}dist.pass = "backward"{{.*}}shift = -1
// CHECK: train.attention_grad %{{.*}}, %[[K]], %[[V]]
// CHECK-COUNT-2: dist.send_receive {{.*}}{axes = ["sp"], shift = -1
// CHECK-COUNT-2: dist.send_receive {{.*}}dist.pass = "backward"{{.*}}shift = -1
// CHECK: train.attention_grad
// CHECK-COUNT-2: dist.send_receive {{.*}}{axes = ["sp"], shift = -1
// CHECK-COUNT-2: dist.send_receive {{.*}}dist.pass = "backward"{{.*}}shift = -1
// CHECK: train.attention_grad
// CHECK-COUNT-2: dist.send_receive {{.*}}{axes = ["sp"], shift = -1
// CHECK-NOT: dist.send_receive
// CHECK: train.attention_grad
// CHECK-NOT: dist.send_receive
// CHECK: return
// GATHER-LABEL: func.func @step
// GATHER-COUNT-2: dist.all_gather {{.*}}dist.pass = "forward"{{.*}}tensor<4x1x4x3x6xf32>
// GATHER: train.attention %{{.*}} : (tensor<1x4x3x6xf32>, tensor<1x16x3x6xf32>, tensor<1x16x3x6xf32>)
// GATHER-COUNT-2: dist.all_gather {{.*}}dist.pass = "backward"
// GATHER: train.attention_grad
// GATHER-COUNT-2: dist.reduce_scatter
func.func @step(
    %q: tensor<2x16x3x6xf32> {train.input = "q", train.batch_dim = 0 : i64},
    %k: tensor<2x16x3x6xf32> {train.input = "k", train.batch_dim = 0 : i64})
    -> (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>) {
  %kv = train.add %q, %k : (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>) -> tensor<2x16x3x6xf32>
  %result, %sums = train.attention %q, %k, %kv {scale = 1.0 : f64} : (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>) -> (tensor<2x16x3x6xf32>, tensor<2x3x16xf32>)
  %grads:3 = train.attention_grad %q, %k, %kv, %result, %sums, %result {scale = 1.0 : f64} : (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x3x16xf32>, tensor<2x16x3x6xf32>) -> (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>)
  return %grads#0, %grads#1, %grads#2 : tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>
}

// -----

// Tests zigzag: one causal block of a rank's own tokens, then two halves of a
// block a turn, which no rank leaves out. Keys that are gathered come in their
// order, and each query knows its place.
// CHECK-LABEL: func.func @eval
// CHECK: train.attention %{{.*}} {causal{{.*}} : (tensor<1x4x3x6xf32>, tensor<1x4x3x6xf32>
// CHECK-COUNT-6: train.attention %{{.*}} : (tensor<1x2x3x6xf32>, tensor<1x2x3x6xf32>, tensor<1x2x3x6xf32>)
// CHECK-NOT: train.attention
// CHECK: return
// GATHER: train.attention %{{.*}} : (tensor<1x4x3x6xf32>, tensor<1x16x3x6xf32>, tensor<1x16x3x6xf32>, tensor<1x1x4x1xi64>)
module attributes {train.token_order = "zigzag"} {
  func.func @eval(%x: tensor<2x16x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x16x3x6xf32> {
    %order = train.constant dense<[0, 1, 14, 15, 2, 3, 12, 13, 4, 5, 10, 11, 6, 7, 8, 9]> : tensor<16xi64>
    %q = train.gather %x, %order {dim = 1 : i64} : (tensor<2x16x3x6xf32>, tensor<16xi64>) -> tensor<2x16x3x6xf32>
    %result, %sums = train.attention %q, %q, %q {causal, scale = 1.0 : f64} : (tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>, tensor<2x16x3x6xf32>) -> (tensor<2x16x3x6xf32>, tensor<2x3x16xf32>)
    return %result : tensor<2x16x3x6xf32>
  }
}

// -----

// Tests that each rank has its queries' rows of a mask of queries and keys, and
// takes the columns of the keys that have come to it. Where queries see no key,
// those of a block count that are hidden by the largest of all numbers.
// CHECK-LABEL: func.func @rows_of_a_mask
// CHECK-NOT: dist.send_receive {{.*}}tensor<1x1x2x8xf32>
// CHECK: train.reduce "max" %{{.*}} : (tensor<1x1x2x8xf32>) -> tensor<1x1x2xf32>
// CHECK: %[[ROWS:.*]] = train.reshape %{{.*}} -> tensor<1x1x2x4x2xf32>
// CHECK: train.gather %[[ROWS]]
// CHECK: train.compare "eq" {{.*}}tensor<1x1x2x2xf32>
// CHECK-COUNT-3: train.gather %[[ROWS]], %{{.*}} {{{.*}}dim = 3 : i64{{.*}}} : (tensor<1x1x2x4x2xf32>, tensor<1xi64>) -> tensor<1x1x2x1x2xf32>
func.func @rows_of_a_mask(
    %x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %mask: tensor<1x1x8x8xf32>) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<1x1x8x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}
