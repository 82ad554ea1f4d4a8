// RUN: zc-opt %s --split-input-file --zc-drop-equal-blocks="keep=2 divisions=b.3=tp" | FileCheck %s
// Tests layers that are alike, that are divided differently, that share a
// weight, whose results are read further on, and two kinds of layers.

// Four of one kind: the first two stay, with their states.
// CHECK: train.state @w.0
// CHECK: train.state @w.1
// CHECK-NOT: train.state @w.2
// CHECK-NOT: train.state @w.3
train.state @w.0 "parameter" : tensor<4x4xf32> {draw = {index = 0 : i64, normal = 1.0}}
train.state @w.1 "parameter" : tensor<4x4xf32> {draw = {index = 1 : i64, normal = 1.0}}
train.state @w.2 "parameter" : tensor<4x4xf32> {draw = {index = 2 : i64, normal = 1.0}}
train.state @w.3 "parameter" : tensor<4x4xf32> {draw = {index = 3 : i64, normal = 1.0}}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[W0:.*]]: tensor<4x4xf32> {train.state = @w.0}, %[[W1:.*]]: tensor<4x4xf32> {train.state = @w.1}, %[[X:.*]]: tensor<8x4xf32>
func.func @forward(%w0: tensor<4x4xf32> {train.state = @w.0}, %w1: tensor<4x4xf32> {train.state = @w.1}, %w2: tensor<4x4xf32> {train.state = @w.2}, %w3: tensor<4x4xf32> {train.state = @w.3}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x4xf32> {
  // CHECK: %[[A:.*]] = train.matmul %[[X]], %[[W0]]
  // CHECK: %[[B:.*]] = train.tanh %[[A]]
  // CHECK: %[[C:.*]] = train.matmul %[[B]], %[[W1]]
  // CHECK: %[[D:.*]] = train.tanh %[[C]]
  // CHECK: %[[E:.*]] = train.exp %[[D]]
  // CHECK-NEXT: return %[[E]]
  %0 = train.matmul %x, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.tanh %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %1, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = train.tanh %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = train.matmul %3, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %5 = train.tanh %4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = train.matmul %5, %w3 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %7 = train.tanh %6 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %8 = train.exp %7 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %8 : tensor<8x4xf32>
}

// -----

// The fourth is divided as no other, the third one's weight is read by another
// op: all stay.
train.state @a.0 "parameter" : tensor<4x4xf32>
train.state @a.1 "parameter" : tensor<4x4xf32>
train.state @a.2 "parameter" : tensor<4x4xf32>
train.state @b.3 "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-4: train.matmul
func.func @forward(%w0: tensor<4x4xf32> {train.state = @a.0}, %w1: tensor<4x4xf32> {train.state = @a.1}, %w2: tensor<4x4xf32> {train.state = @a.2}, %w3: tensor<4x4xf32> {train.state = @b.3}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = train.matmul %x, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %0, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %1, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = train.matmul %2, %w3 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = train.matmul %3, %w2 {transpose_rhs} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// -----

// All share one weight: they are one layer many times.
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: train.matmul
// CHECK-NOT: train.matmul
func.func @forward(%w: tensor<4x4xf32> {train.state = @w}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %0, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %1, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// The third one makes a result.
train.state @a.0 "parameter" : tensor<4x4xf32>
train.state @a.1 "parameter" : tensor<4x4xf32>
train.state @a.2 "parameter" : tensor<4x4xf32>
train.state @a.3 "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-4: train.matmul
func.func @forward(%w0: tensor<4x4xf32> {train.state = @a.0}, %w1: tensor<4x4xf32> {train.state = @a.1}, %w2: tensor<4x4xf32> {train.state = @a.2}, %w3: tensor<4x4xf32> {train.state = @a.3}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = train.matmul %x, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %0, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %1, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = train.matmul %2, %w3 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Skip edges, a value that all read, and two runs: of 3 and of 4 layers 2 stay.
train.state @a.0 "parameter" : tensor<4x4xf32>
train.state @a.1 "parameter" : tensor<4x4xf32>
train.state @a.2 "parameter" : tensor<4x4xf32>
train.state @c.0 "parameter" : tensor<4xf32>
train.state @c.1 "parameter" : tensor<4xf32>
train.state @c.2 "parameter" : tensor<4xf32>
train.state @c.3 "parameter" : tensor<4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: train.matmul
// CHECK-NOT: train.matmul
// CHECK-COUNT-2: train.broadcast
// CHECK-NOT: train.broadcast
func.func @forward(%a0: tensor<4x4xf32> {train.state = @a.0}, %a1: tensor<4x4xf32> {train.state = @a.1}, %a2: tensor<4x4xf32> {train.state = @a.2}, %c0: tensor<4xf32> {train.state = @c.0}, %c1: tensor<4xf32> {train.state = @c.1}, %c2: tensor<4xf32> {train.state = @c.2}, %c3: tensor<4xf32> {train.state = @c.3}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x4xf32> {
  %p = train.exp %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = train.matmul %p, %a0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.mul %0, %p : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.add %1, %p : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = train.matmul %2, %a1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = train.mul %3, %p : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = train.add %4, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = train.matmul %5, %a2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %7 = train.mul %6, %p : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %8 = train.add %7, %5 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %10 = train.broadcast %c0 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %11 = train.mul %8, %10 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %12 = train.broadcast %c1 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %13 = train.mul %11, %12 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %14 = train.broadcast %c2 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %15 = train.mul %13, %14 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %16 = train.broadcast %c3 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %17 = train.mul %15, %16 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %17 : tensor<8x4xf32>
}

// -----

// Three branches side by side are no layers.
train.state @q "parameter" : tensor<4x4xf32>
train.state @k "parameter" : tensor<4x4xf32>
train.state @v "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-3: train.matmul
func.func @forward(%q: tensor<4x4xf32> {train.state = @q}, %k: tensor<4x4xf32> {train.state = @k}, %v: tensor<4x4xf32> {train.state = @v}, %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = train.matmul %x, %q : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.matmul %x, %k : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = train.matmul %x, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = train.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = train.sub %3, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}
