// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,tp=4" --zc-divide-residuals | FileCheck %s
// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2,tp=3" --zc-divide-residuals | FileCheck %s --check-prefix=ODD

// Tests that tokens are divided where residuals begin and behind each branch,
// that products read all of them, and that neither a bias, a sum of heads, a
// term of a sum nor a term of an activation is a branch.
// CHECK-LABEL: func.func @step
// CHECK: %[[BEGIN:.*]] = dist.reshard %arg0 {dist.sharding = #dist.sharding<dp,tp,_>, dist.traffic = "activations"}
// CHECK: %[[READ:.*]] = dist.reshard %[[BEGIN]] {dist.pass = "forward", dist.sharding = #dist.sharding<dp,_,_>, dist.traffic = "activations"}
// CHECK: train.matmul %[[READ]]
// CHECK: %[[HEADS:.*]] = train.add %{{.*}} : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)
// CHECK-NOT: dist.reshard
// CHECK: train.attention %[[HEADS]]
// CHECK: %[[SUM:.*]] = train.add %[[BEGIN]]
// CHECK: %[[PART:.*]] = dist.reshard %[[SUM]] {dist.sharding = #dist.sharding<dp,tp,_>, dist.traffic = "activations"}
// CHECK: %[[ROOT:.*]] = train.exp %[[PART]]
// CHECK: %[[ALL:.*]] = dist.reshard %[[ROOT]] {dist.pass = "forward", dist.sharding = #dist.sharding<dp,_,_>, dist.traffic = "activations"}
// CHECK: %[[INNER:.*]] = train.matmul %[[ALL]]
// CHECK: %[[TERM:.*]] = train.exp %[[INNER]]
// CHECK: %[[ACTIVATION:.*]] = train.add %[[INNER]], %[[TERM]]
// CHECK: %[[PRODUCT:.*]] = train.matmul %[[ACTIVATION]]
// CHECK: %[[BIASED:.*]] = train.add %[[PRODUCT]]
// CHECK: %[[BOTH:.*]] = train.add %[[BIASED]], %[[PRODUCT]]
// CHECK-NOT: dist.reshard %[[BOTH]]
// CHECK: %[[LAST:.*]] = train.add %[[PART]], %[[BOTH]]
// CHECK: dist.reshard %[[LAST]] {dist.sharding = #dist.sharding<dp,tp,_>
// ODD-NOT: dist.reshard
func.func @step(%x: tensor<2x8x12xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %w: tensor<12x12xf32>, %b: tensor<12xf32>)
    -> (tensor<2x8x12xf32> {train.output = "y"}) {
  %p = train.matmul %x, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %h = train.reshape %p : (tensor<2x8x12xf32>) -> tensor<2x8x3x4xf32>
  %q = train.add %h, %h : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  %result, %sums = train.attention %q, %h, %h {scale = 1.0 : f64} : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x3x8xf32>)
  %branch = train.reshape %result : (tensor<2x8x3x4xf32>) -> tensor<2x8x12xf32>
  %0 = train.add %x, %branch : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %1 = train.exp %0 : (tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %inner = train.matmul %1, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %term = train.exp %inner : (tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %activation = train.add %inner, %term : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %2 = train.matmul %activation, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %3 = train.broadcast %b {dims = array<i64: 2>} : (tensor<12xf32>) -> tensor<2x8x12xf32>
  %4 = train.add %2, %3 : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %5 = train.add %4, %2 : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %6 = train.add %0, %5 : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  return %6 : tensor<2x8x12xf32>
}

// Tests that what the backward alone reads is gathered where it does: a reshape
// for it stood among the forward's ops.
// CHECK-LABEL: func.func @late
// CHECK: train.exp
// CHECK-NEXT: dist.reshard %{{.*}} {dist.pass = "forward"
// CHECK: train.add
// CHECK: dist.reshard %{{.*}} {dist.pass = "backward"
// CHECK-NEXT: train.reshape
// CHECK-NEXT: train.matmul %{{.*}} {transpose_lhs}
// ODD-NOT: dist.reshard
func.func @late(%x: tensor<2x8x12xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %w: tensor<12x12xf32>, %g: tensor<16x12xf32>)
    -> (tensor<2x8x12xf32> {train.metric = "loss"}, tensor<12x12xf32>) {
  %p = train.matmul %x, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %h = train.reshape %p : (tensor<2x8x12xf32>) -> tensor<2x8x3x4xf32>
  %result, %sums = train.attention %h, %h, %h {scale = 1.0 : f64} : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x3x8xf32>)
  %branch = train.reshape %result : (tensor<2x8x3x4xf32>) -> tensor<2x8x12xf32>
  %0 = train.add %x, %branch : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %1 = train.exp %0 : (tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %rows = train.reshape %1 : (tensor<2x8x12xf32>) -> tensor<16x12xf32>
  %2 = train.matmul %1, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %3 = train.add %0, %2 : (tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %4 = train.matmul %3, %w : (tensor<2x8x12xf32>, tensor<12x12xf32>) -> tensor<2x8x12xf32>
  %5 = train.matmul %rows, %g {transpose_lhs} : (tensor<16x12xf32>, tensor<16x12xf32>) -> tensor<12x12xf32>
  return %4, %5 : tensor<2x8x12xf32>, tensor<12x12xf32>
}
