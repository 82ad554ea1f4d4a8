// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring" --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring=contiguous" --split-input-file | FileCheck %s --check-prefix=STAYS

// Tests that tokens and the sources of positions change places, once each, and
// that results change back; what is the same for all tokens stays.
// CHECK: module attributes {train.token_order = "zigzag", train.token_parts = 2 : i64}
// CHECK-LABEL: func.func @eval
// CHECK-DAG: %[[IN:.*]] = train.gather %[[X:.*]], %{{.*}} {dim = 1 : i64}
// CHECK-DAG: dense<[0, 1, 6, 7, 2, 3, 4, 5]> : tensor<8xi64>
// CHECK-DAG: %[[PLACES:.*]] = train.gather %[[TABLE:.*]], %{{.*}} {dim = 0 : i64}
// CHECK-DAG: train.broadcast %[[PLACES]]
// CHECK: train.attention
// CHECK: train.constant dense<[0, 1, 4, 5, 6, 7, 2, 3]> : tensor<8xi64>
// CHECK: %[[OUT:.*]] = train.gather %{{.*}} {dim = 1 : i64}
// CHECK: return %[[OUT]]
// STAYS-NOT: token_order
// STAYS-NOT: dense<[0, 1, 6, 7, 2, 3, 4, 5]>
func.func @eval(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
    %table: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<2x8x3x6xf32> {
  %places = train.broadcast %table {dims = array<i64: 1, 3>} : (tensor<8x6xf32>) -> tensor<2x8x3x6xf32>
  %bias = train.broadcast %b {dims = array<i64: 3>} : (tensor<6xf32>) -> tensor<2x8x3x6xf32>
  %0 = train.add %x, %places : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> tensor<2x8x3x6xf32>
  %q = train.add %0, %bias : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> tensor<2x8x3x6xf32>
  %result, %sums = train.attention %q, %q, %q {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

// Tests that somebody who reads tokens in their order, and wants them whole, gets
// them so.
// CHECK-LABEL: func.func @shifted
// CHECK: train.gather %{{.*}} {dim = 1 : i64}
// CHECK: %[[RESULT:.*]], %{{.*}} = train.attention
// CHECK: train.constant dense<[0, 1, 4, 5, 6, 7, 2, 3]> : tensor<8xi64>
// CHECK: %[[BACK:.*]] = train.gather %[[RESULT]], %{{.*}} {dim = 1 : i64}
// CHECK: %[[SHIFTED:.*]] = train.slice %[[BACK]]
// CHECK: return %[[SHIFTED]]
func.func @shifted(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x7x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  %0 = train.slice %result {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x8x3x6xf32>) -> tensor<2x7x3x6xf32>
  return %0 : tensor<2x7x3x6xf32>
}

// -----

// Tests that rows of samples and tokens, as experts read them, are of the model's
// order, and that tokens change places behind them.
// CHECK-LABEL: func.func @rows
// CHECK: %[[RESULT:.*]], %{{.*}} = train.attention
// CHECK: %[[BACK:.*]] = train.gather %[[RESULT]], %{{.*}} {dim = 1 : i64}
// CHECK: %[[ROWS:.*]] = train.reshape %[[BACK]]
// CHECK: %[[TURNED:.*]] = train.gather %[[ROWS]]
// CHECK: %[[TOKENS:.*]] = train.reshape %[[TURNED]]
// CHECK: train.constant dense<[0, 1, 6, 7, 2, 3, 4, 5]> : tensor<8xi64>
// CHECK: %[[AGAIN:.*]] = train.gather %[[TOKENS]], %{{.*}} {dim = 1 : i64}
// CHECK: train.add %[[RESULT]], %[[AGAIN]]
func.func @rows(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  %0 = train.reshape %result : (tensor<2x8x3x6xf32>) -> tensor<16x3x6xf32>
  %order = train.constant dense<[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]> : tensor<16xi64>
  %1 = train.gather %0, %order {dim = 0 : i64} : (tensor<16x3x6xf32>, tensor<16xi64>) -> tensor<16x3x6xf32>
  %2 = train.reshape %1 : (tensor<16x3x6xf32>) -> tensor<2x8x3x6xf32>
  %3 = train.add %result, %2 : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> tensor<2x8x3x6xf32>
  return %3 : tensor<2x8x3x6xf32>
}

// -----

// Tests that integers, whose running sum says positions, are summed up in the
// model's order, and change places where a table is read with them.
// CHECK-LABEL: func.func @positions
// CHECK-SAME: %[[SEEN:[a-z0-9]+]]: tensor<2x8xi64>
// CHECK: train.slice %[[SEEN]]
// CHECK: %[[SUM:.*]] = train.add %[[SEEN]]
// CHECK: %[[PLACES:.*]] = train.gather %[[SUM]], %{{.*}} {dim = 1 : i64} : (tensor<2x8xi64>, tensor<8xi64>)
// CHECK: train.gather %{{.*}}, %[[PLACES]] {dim = 0 : i64} : (tensor<9x18xf32>, tensor<2x8xi64>)
func.func @positions(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x8xi64> {train.input = "seen", train.batch_dim = 0 : i64}, %table: tensor<9x18xf32>) -> tensor<2x8x3x6xf32> {
  %0 = train.slice %seen {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x8xi64>) -> tensor<2x7xi64>
  %1 = train.pad %0 {low = array<i64: 0, 1>, interior = array<i64: 0, 0>} : (tensor<2x7xi64>) -> tensor<2x8xi64>
  %2 = train.add %seen, %1 : (tensor<2x8xi64>, tensor<2x8xi64>) -> tensor<2x8xi64>
  %3 = train.gather %table, %2 {dim = 0 : i64} : (tensor<9x18xf32>, tensor<2x8xi64>) -> tensor<2x8x18xf32>
  %4 = train.reshape %3 : (tensor<2x8x18xf32>) -> tensor<2x8x3x6xf32>
  %5 = train.add %x, %4 : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> tensor<2x8x3x6xf32>
  %result, %sums = train.attention %5, %5, %5 {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

// Tests that the host puts an output back in order, of which each rank keeps
// its tokens.
// CHECK-LABEL: func.func @read
// CHECK-SAME: -> (tensor<2x8x3x6xf32> {train.output = "y", train.token_dim = 1 : i64, train.token_order = "zigzag"})
// CHECK: train.gather
// CHECK: %[[Y:.*]], %{{.*}} = train.attention
// CHECK-NEXT: return %[[Y]]
func.func @read(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> (tensor<2x8x3x6xf32> {train.output = "y"}) {
  %result, %sums = train.attention %x, %x, %x {causal, scale = 1.0 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}

// -----

// Tests that a condition of queries and keys is not computed in order and then
// put in another: what it is computed from changes places.
// CHECK-LABEL: func.func @condition
// CHECK: train.gather {{.*}} -> tensor<8x8xi1>
// CHECK-NOT: train.gather {{.*}} -> tensor<2x1x8x8xi1>
// CHECK: return
func.func @condition(%x: tensor<2x8x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x8xi1> {train.input = "seen", train.batch_dim = 0 : i64}) -> tensor<2x8x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<8x8xi1>) -> tensor<2x1x8x8xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x8xi1>) -> tensor<2x1x8x8xi1>
  %2 = train.and %0, %1 : (tensor<2x1x8x8xi1>, tensor<2x1x8x8xi1>) -> tensor<2x1x8x8xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x8x8xf32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<2x1x8x8xf32>
  %mask = train.select %2, %zero, %lowest : (tensor<2x1x8x8xi1>, tensor<2x1x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x1x8x8xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x1x8x8xf32>) -> (tensor<2x8x3x6xf32>, tensor<2x3x8xf32>)
  return %result : tensor<2x8x3x6xf32>
}
