// RUN: zc-opt %s --zc-recognize-attention --canonicalize | FileCheck %s

train.state @mask "constant" : tensor<3x3xf32> {value = dense<[[0.0, -3.0e38, -3.0e38], [0.0, 0.0, -3.0e38], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>}
train.state @band "constant" : tensor<3x3xf32> {value = dense<[[0.0, -3.0e38, -3.0e38], [0.0, 0.0, -3.0e38], [-3.0e38, 0.0, 0.0]]> : tensor<3x3xf32>}

// Tests that scalings of q, k and the scores are gathered, that a constant state
// is known as the causal mask, and that no copy is left between a packed
// projection and the op.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3x3x4x8xf32>
// CHECK-DAG: %[[SQ:.*]] = train.slice %[[X]] {offsets = array<i64: 0, 0, 0, 0, 0>
// CHECK-DAG: %[[SK:.*]] = train.slice %[[X]] {offsets = array<i64: 0, 0, 1, 0, 0>
// CHECK-DAG: %[[SV:.*]] = train.slice %[[X]] {offsets = array<i64: 0, 0, 2, 0, 0>
// CHECK-DAG: %[[Q:.*]] = train.reshape %[[SQ]] : (tensor<2x3x1x4x8xf32>) -> tensor<2x3x4x8xf32>
// CHECK-DAG: %[[K:.*]] = train.reshape %[[SK]]
// CHECK-DAG: %[[V:.*]] = train.reshape %[[SV]]
// CHECK: %[[R:.*]], %{{.*}} = train.attention %[[Q]], %[[K]], %[[V]] {causal, scale = 2.000000e+00 : f64}
// CHECK: return %[[R]]
func.func @packed(%x: tensor<2x3x3x4x8xf32>, %mask: tensor<3x3xf32> {train.state = @mask}) -> tensor<2x3x4x8xf32> {
  %two = train.constant dense<2.0> : tensor<2x4x3x8xf32>
  %four = train.constant dense<4.0> : tensor<2x4x8x3xf32>
  %quarter = train.constant dense<4.0> : tensor<2x4x3x3xf32>
  %0 = train.transpose %x {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x3x3x4x8xf32>) -> tensor<3x2x4x3x8xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x4x3x8xf32>) -> tensor<1x2x4x3x8xf32>
  %2 = train.slice %0 {offsets = array<i64: 1, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x4x3x8xf32>) -> tensor<1x2x4x3x8xf32>
  %3 = train.slice %0 {offsets = array<i64: 2, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x4x3x8xf32>) -> tensor<1x2x4x3x8xf32>
  %q = train.reshape %1 : (tensor<1x2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %flat = train.reshape %2 : (tensor<1x2x4x3x8xf32>) -> tensor<8x3x8xf32>
  %v = train.reshape %3 : (tensor<1x2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %turned = train.transpose %flat {permutation = array<i64: 0, 2, 1>} : (tensor<8x3x8xf32>) -> tensor<8x8x3xf32>
  %k = train.reshape %turned : (tensor<8x8x3xf32>) -> tensor<2x4x8x3xf32>
  %4 = train.mul %q, %two : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %5 = train.mul %k, %four : (tensor<2x4x8x3xf32>, tensor<2x4x8x3xf32>) -> tensor<2x4x8x3xf32>
  %6 = train.matmul %4, %5 : (tensor<2x4x3x8xf32>, tensor<2x4x8x3xf32>) -> tensor<2x4x3x3xf32>
  %7 = train.div %6, %quarter : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %8 = train.broadcast %mask {dims = array<i64: 2, 3>} : (tensor<3x3xf32>) -> tensor<2x4x3x3xf32>
  %9 = train.add %7, %8 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %10 = train.softmax %9 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %11 = train.matmul %10, %v : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %12 = train.transpose %11 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x3x8xf32>) -> tensor<2x3x4x8xf32>
  return %12 : tensor<2x3x4x8xf32>
}

// Tests that attention without heads and without a mask has one head and is not
// causal.
// CHECK-LABEL: func.func @one_head
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 1.000000e+00 : f64} : (tensor<2x5x1x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>)
func.func @one_head(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x8xf32>) -> tensor<2x5x8xf32> {
  %0 = train.matmul %q, %k {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x7x8xf32>) -> tensor<2x5x7xf32>
  %1 = train.softmax %0 {dim = 2 : i64} : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %2 = train.matmul %1, %v : (tensor<2x5x7xf32>, tensor<2x7x8xf32>) -> tensor<2x5x8xf32>
  return %2 : tensor<2x5x8xf32>
}

// Tests that another constant mask is the op's, and that attention whose
// probabilities are an output stays as it is.
// CHECK-LABEL: func.func @others
// CHECK: %[[MASK:.*]] = train.reshape %{{.*}} : (tensor<3x3xf32>) -> tensor<1x1x3x3xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]] {scale
// CHECK-NOT: train.attention
// CHECK: return
func.func @others(%q: tensor<2x3x8xf32>, %mask: tensor<3x3xf32> {train.state = @band}) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x3xf32>) {
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %1 = train.broadcast %mask {dims = array<i64: 1, 2>} : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %2 = train.add %0, %1 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = train.softmax %2 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %4 = train.matmul %3, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %5 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %6 = train.softmax %5 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %7 = train.matmul %6, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %4, %7, %6 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x3xf32>
}

// Tests queries in groups that share keys, [batch, heads, group, tokens,
// width]: they are heads of one attention, and keys are repeated as before. A
// mask of each head of keys is one of all heads.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[Q:[^:]*]]: tensor<2x3x4x5x8xf32>
// CHECK-DAG: %[[HEADS:.*]] = train.reshape %[[Q]] : (tensor<2x3x4x5x8xf32>) -> tensor<2x12x5x8xf32>
// CHECK-DAG: %[[MASKS:.*]] = train.broadcast %{{.*}} -> tensor<1x3x4x1x5xf32>
// CHECK-DAG: %[[MASK:.*]] = train.reshape %[[MASKS]] : (tensor<1x3x4x1x5xf32>) -> tensor<1x12x1x5xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]] {scale = 1.000000e+00 : f64} : (tensor<2x5x12x8xf32>, tensor<2x5x12x8xf32>, tensor<2x5x12x8xf32>, tensor<1x12x1x5xf32>)
// CHECK: train.transpose %{{.*}} -> tensor<2x3x4x5x8xf32>
func.func @grouped(%q: tensor<2x3x4x5x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x1x5x8xf32>, %mask: tensor<3x1x1x5xf32> {train.input = "mask"}) -> tensor<2x3x4x5x8xf32> {
  %0 = train.broadcast %k {dims = array<i64: 0, 1, 3, 4>} : (tensor<2x3x5x8xf32>) -> tensor<2x3x4x5x8xf32>
  %1 = train.matmul %q, %0 {transpose_rhs} : (tensor<2x3x4x5x8xf32>, tensor<2x3x4x5x8xf32>) -> tensor<2x3x4x5x5xf32>
  %2 = train.broadcast %mask {dims = array<i64: 1, 2, 3, 4>} : (tensor<3x1x1x5xf32>) -> tensor<2x3x4x5x5xf32>
  %3 = train.add %1, %2 : (tensor<2x3x4x5x5xf32>, tensor<2x3x4x5x5xf32>) -> tensor<2x3x4x5x5xf32>
  %4 = train.softmax %3 {dim = 4 : i64} : (tensor<2x3x4x5x5xf32>) -> tensor<2x3x4x5x5xf32>
  %5 = train.broadcast %v {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x5x8xf32>) -> tensor<2x3x4x5x8xf32>
  %6 = train.matmul %4, %5 : (tensor<2x3x4x5x5xf32>, tensor<2x3x4x5x8xf32>) -> tensor<2x3x4x5x8xf32>
  return %6 : tensor<2x3x4x5x8xf32>
}

// Tests that windows of tokens, whose values are their own, are no groups.
// CHECK-LABEL: func.func @windows
// CHECK-NOT: train.attention
func.func @windows(%q: tensor<2x3x4x5x8xf32>, %k: tensor<2x3x4x5x8xf32>, %v: tensor<2x3x4x5x8xf32>) -> tensor<2x3x4x5x8xf32> {
  %0 = train.matmul %q, %k {transpose_rhs} : (tensor<2x3x4x5x8xf32>, tensor<2x3x4x5x8xf32>) -> tensor<2x3x4x5x5xf32>
  %1 = train.softmax %0 {dim = 4 : i64} : (tensor<2x3x4x5x5xf32>) -> tensor<2x3x4x5x5xf32>
  %2 = train.matmul %1, %v : (tensor<2x3x4x5x5xf32>, tensor<2x3x4x5x8xf32>) -> tensor<2x3x4x5x8xf32>
  return %2 : tensor<2x3x4x5x8xf32>
}
