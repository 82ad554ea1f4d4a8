// RUN: zc-opt %s --zc-recognize-experts --canonicalize | FileCheck %s

// Tests that matrices looked up on the left, as transformers' batched_mm writes
// them, are never looked up; indices that were counted from the beginning stay.
// CHECK-LABEL: func.func @batched
// CHECK-SAME: (%[[W:[^:]*]]: tensor<4x6x3xf32>, %[[X:[^:]*]]: tensor<8x3x1xf32>
// CHECK: %[[CHOSEN:.*]] = train.select
// CHECK: %[[IDS:.*]] = train.iota
// CHECK: %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<8x3x1xf32>) -> tensor<8x3xf32>
// CHECK: %[[R:.*]] = train.grouped_matmul %[[ROWS]], %[[W]], %[[CHOSEN]], %[[IDS]] {experts = 4 : i64, transpose_weights}
// CHECK-NOT: train.gather
// CHECK: train.reshape %[[R]] : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
func.func @batched(%w: tensor<4x6x3xf32>, %x: tensor<8x3x1xf32>, %i: tensor<8xi64>) -> tensor<8x6x1xf32> {
  %zero = train.constant dense<0> : tensor<8xi64>
  %four = train.constant dense<4> : tensor<8xi64>
  %0 = train.compare "lt" %i, %zero : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %1 = train.add %i, %four : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %2 = train.select %0, %1, %i : (tensor<8xi1>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %3 = train.gather %w, %2 {dim = 0 : i64} : (tensor<4x6x3xf32>, tensor<8xi64>) -> tensor<8x6x3xf32>
  %4 = train.matmul %3, %x : (tensor<8x6x3xf32>, tensor<8x3x1xf32>) -> tensor<8x6x1xf32>
  return %4 : tensor<8x6x1xf32>
}

// Tests matrices on the right, transposed before the product, for several rows
// each: a row's index is that of its batch entry.
// CHECK-LABEL: func.func @rows
// CHECK: train.grouped_matmul {{.*}} {experts = 4 : i64, transpose_weights} : (tensor<12x3xf32>, tensor<4x5x3xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<12x5xf32>
// CHECK-NOT: train.matmul
func.func @rows(%w: tensor<4x5x3xf32>, %x: tensor<2x3x2x3xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x2x5xf32> {
  %0 = train.gather %w, %i {dim = 0 : i64} : (tensor<4x5x3xf32>, tensor<2x3xi64>) -> tensor<2x3x5x3xf32>
  %1 = train.transpose %0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x3x5x3xf32>) -> tensor<2x3x3x5xf32>
  %2 = train.matmul %x, %1 : (tensor<2x3x2x3xf32>, tensor<2x3x3x5xf32>) -> tensor<2x3x2x5xf32>
  return %2 : tensor<2x3x2x5xf32>
}

// Tests what stays: both factors looked up, a table of vectors, a lookup along
// another dim, and one whose padding has no gradient.
// CHECK-LABEL: func.func @others
// CHECK-NOT: train.grouped_matmul
func.func @others(%w: tensor<4x5x3xf32>, %v: tensor<4x3xf32>, %x: tensor<8x1x5xf32>, %u: tensor<5x3x4xf32>, %i: tensor<8xi64>, %j: tensor<8x3xi64>) -> (tensor<8x5x5xf32>, tensor<8x1x3xf32>, tensor<5x3x3xf32>, tensor<8x1x3xf32>) {
  %0 = train.gather %w, %i {dim = 0 : i64} : (tensor<4x5x3xf32>, tensor<8xi64>) -> tensor<8x5x3xf32>
  %1 = train.matmul %0, %0 {transpose_rhs} : (tensor<8x5x3xf32>, tensor<8x5x3xf32>) -> tensor<8x5x5xf32>
  %2 = train.gather %v, %j {dim = 0 : i64} : (tensor<4x3xf32>, tensor<8x3xi64>) -> tensor<8x3x3xf32>
  %3 = train.slice %x {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<8x1x5xf32>) -> tensor<8x1x3xf32>
  %4 = train.matmul %3, %2 : (tensor<8x1x3xf32>, tensor<8x3x3xf32>) -> tensor<8x1x3xf32>
  %5 = train.slice %i {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<8xi64>) -> tensor<3xi64>
  %6 = train.gather %u, %5 {dim = 2 : i64} : (tensor<5x3x4xf32>, tensor<3xi64>) -> tensor<5x3x3xf32>
  %7 = train.matmul %6, %6 : (tensor<5x3x3xf32>, tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
  %8 = train.gather %w, %i {dim = 0 : i64, padding_index = 0 : i64} : (tensor<4x5x3xf32>, tensor<8xi64>) -> tensor<8x5x3xf32>
  %9 = train.matmul %x, %8 : (tensor<8x1x5xf32>, tensor<8x5x3xf32>) -> tensor<8x1x3xf32>
  return %1, %4, %7, %9 : tensor<8x5x5xf32>, tensor<8x1x3xf32>, tensor<5x3x3xf32>, tensor<8x1x3xf32>
}

// Tests a sum over two experts, of masked values of all tokens: products are of
// the chosen rows, biases are looked up, other summands stay.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: (%[[X:[^:]*]]: tensor<5x3xf32>, %[[A:[^:]*]]: tensor<3x4xf32>, %[[B:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[INSIDE:.*]] = train.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<5x1xi1>, tensor<5x1xi64>, tensor<5x1xi64>)
// CHECK: %[[GROUPS:.*]] = train.reshape %[[INSIDE]] : (tensor<5x1xi64>) -> tensor<5xi64>
// CHECK: %[[IDS:.*]] = train.iota {stride = 1 : i64} : () -> tensor<2xi64>
// CHECK: %[[STACK:.*]] = train.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: train.grouped_matmul %{{.*}}, %[[STACK]], %[[GROUPS]], %[[IDS]] {experts = 2 : i64}
// CHECK: train.gather %{{.*}}, %[[GROUPS]] {dim = 0 : i64} : (tensor<2x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
// CHECK: train.relu {{.*}} tensor<5x4xf32>
// CHECK-NOT: train.matmul
func.func @masked(%x: tensor<5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %w: tensor<5x1xf32>, %i: tensor<5x1xi64>, %rest: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %zero = train.constant dense<0> : tensor<5x1xi64>
  %one = train.constant dense<1> : tensor<5x1xi64>
  %0 = train.compare "eq" %i, %zero : (tensor<5x1xi64>, tensor<5x1xi64>) -> tensor<5x1xi1>
  %1 = train.convert %0 : (tensor<5x1xi1>) -> tensor<5x1xf32>
  %2 = train.mul %w, %1 : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 1>} : (tensor<5x1xf32>) -> tensor<5xf32>
  %4 = train.broadcast %3 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<5x4xf32>
  %5 = train.matmul %x, %a : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %6 = train.broadcast %c {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<5x4xf32>
  %7 = train.add %5, %6 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %8 = train.relu %7 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %9 = train.mul %4, %8 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %10 = train.compare "eq" %i, %one : (tensor<5x1xi64>, tensor<5x1xi64>) -> tensor<5x1xi1>
  %11 = train.convert %10 : (tensor<5x1xi1>) -> tensor<5x1xf32>
  %12 = train.mul %w, %11 : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %13 = train.reduce "sum" %12 {dims = array<i64: 1>} : (tensor<5x1xf32>) -> tensor<5xf32>
  %14 = train.broadcast %13 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<5x4xf32>
  %15 = train.matmul %x, %b : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %16 = train.broadcast %d {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<5x4xf32>
  %17 = train.add %15, %16 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %18 = train.relu %17 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %19 = train.mul %14, %18 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %20 = train.add %9, %rest : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %21 = train.add %20, %19 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %21 : tensor<5x4xf32>
}

// Tests what stays: experts that mix tokens, or that are not alike.
// CHECK-LABEL: func.func @unlike
// CHECK-NOT: train.grouped_matmul
func.func @unlike(%x: tensor<5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %w: tensor<5x1xf32>, %i: tensor<5x1xi64>) -> tensor<5x4xf32> {
  %zero = train.constant dense<0> : tensor<5x1xi64>
  %one = train.constant dense<1> : tensor<5x1xi64>
  %0 = train.compare "eq" %i, %zero : (tensor<5x1xi64>, tensor<5x1xi64>) -> tensor<5x1xi1>
  %1 = train.convert %0 : (tensor<5x1xi1>) -> tensor<5x1xf32>
  %2 = train.mul %w, %1 : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 1>} : (tensor<5x1xf32>) -> tensor<5xf32>
  %4 = train.broadcast %3 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<5x4xf32>
  %5 = train.matmul %x, %a : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %6 = train.relu %5 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %7 = train.mul %4, %6 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %8 = train.compare "eq" %i, %one : (tensor<5x1xi64>, tensor<5x1xi64>) -> tensor<5x1xi1>
  %9 = train.convert %8 : (tensor<5x1xi1>) -> tensor<5x1xf32>
  %10 = train.mul %w, %9 : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
  %11 = train.reduce "sum" %10 {dims = array<i64: 1>} : (tensor<5x1xf32>) -> tensor<5xf32>
  %12 = train.broadcast %11 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<5x4xf32>
  %13 = train.matmul %x, %b : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %14 = train.tanh %13 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %15 = train.mul %12, %14 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %16 = train.add %7, %15 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %16 : tensor<5x4xf32>
}

// Tests a sum over a dim of two experts, whose matrices and biases are stacked,
// of all tokens times weights that are put at what was chosen.
// CHECK-LABEL: func.func @stacked
// CHECK-SAME: (%[[X:[^:]*]]: tensor<5x3xf32>, %[[A:[^:]*]]: tensor<2x3x4xf32>, %[[C:[^:]*]]: tensor<2x4xf32>
// CHECK: %[[GROUPS:.*]] = train.reshape %{{.*}} : (tensor<5x1xi64>) -> tensor<5xi64>
// CHECK: train.grouped_matmul %{{.*}}, %[[A]], %[[GROUPS]], %{{.*}} {experts = 2 : i64} : {{.*}} -> tensor<5x4xf32>
// CHECK: train.gather %[[C]], %[[GROUPS]] {dim = 0 : i64} : (tensor<2x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
// CHECK-NOT: train.matmul
func.func @stacked(%x: tensor<5x3xf32>, %a: tensor<2x3x4xf32>, %c: tensor<2x4xf32>, %w: tensor<5x1xf32>, %i: tensor<5x1xi64>) -> tensor<5x1x4xf32> {
  %zeros = train.constant dense<0.0> : tensor<5x2xf32>
  %0 = train.scatter_reduce "last" %zeros, %i, %w {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<5x2xf32>, tensor<5x1xi64>, tensor<5x1xf32>) -> tensor<5x2xf32>
  %1 = train.reshape %0 : (tensor<5x2xf32>) -> tensor<5x1x2xf32>
  %2 = train.broadcast %x {dims = array<i64: 1, 2>} : (tensor<5x3xf32>) -> tensor<2x5x3xf32>
  %3 = train.matmul %2, %a : (tensor<2x5x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>
  %4 = train.broadcast %c {dims = array<i64: 0, 2>} : (tensor<2x4xf32>) -> tensor<2x5x4xf32>
  %5 = train.add %3, %4 : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  %6 = train.transpose %5 {permutation = array<i64: 1, 0, 2>} : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
  %7 = train.matmul %1, %6 : (tensor<5x1x2xf32>, tensor<5x2x4xf32>) -> tensor<5x1x4xf32>
  return %7 : tensor<5x1x4xf32>
}

// Tests what stays: two choices that may be one, and values that are of several
// tokens.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: train.grouped_matmul
func.func @mixed(%x: tensor<5x3xf32>, %a: tensor<3x3x4xf32>, %w: tensor<5x2xf32>, %i: tensor<5x2xi64>, %v: tensor<5x1xf32>, %j: tensor<5x1xi64>) -> (tensor<5x1x4xf32>, tensor<5x1x4xf32>) {
  %zeros = train.constant dense<0.0> : tensor<5x3xf32>
  %0 = train.broadcast %x {dims = array<i64: 1, 2>} : (tensor<5x3xf32>) -> tensor<3x5x3xf32>
  %1 = train.matmul %0, %a : (tensor<3x5x3xf32>, tensor<3x3x4xf32>) -> tensor<3x5x4xf32>
  %2 = train.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<3x5x4xf32>) -> tensor<5x3x4xf32>
  %3 = train.scatter_reduce "last" %zeros, %i, %w {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<5x3xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<5x3xf32>
  %4 = train.reshape %3 : (tensor<5x3xf32>) -> tensor<5x1x3xf32>
  %5 = train.matmul %4, %2 : (tensor<5x1x3xf32>, tensor<5x3x4xf32>) -> tensor<5x1x4xf32>
  %6 = train.softmax %2 {dim = 0 : i64} : (tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %7 = train.scatter_reduce "last" %zeros, %j, %v {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<5x3xf32>, tensor<5x1xi64>, tensor<5x1xf32>) -> tensor<5x3xf32>
  %8 = train.reshape %7 : (tensor<5x3xf32>) -> tensor<5x1x3xf32>
  %9 = train.matmul %8, %6 : (tensor<5x1x3xf32>, tensor<5x3x4xf32>) -> tensor<5x1x4xf32>
  return %5, %9 : tensor<5x1x4xf32>, tensor<5x1x4xf32>
}

// Tests gates that are sums of one-hot numbers, and a reduction over experts.
// CHECK-LABEL: func.func @summed
// CHECK: train.grouped_matmul %{{.*}}, %{{.*}} {experts = 3 : i64, transpose_weights} : {{.*}} -> tensor<10x4xf32>
// CHECK-NOT: train.matmul
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 1>} : (tensor<5x2x4xf32>) -> tensor<5x4xf32>
func.func @summed(%x: tensor<5x6xf32>, %a: tensor<3x4x6xf32>, %w: tensor<5x2xf32>, %i: tensor<5x2xi64>) -> tensor<5x4xf32> {
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %0 = train.reshape %i : (tensor<5x2xi64>) -> tensor<5x2x1xi64>
  %1 = train.broadcast %0 {dims = array<i64: 0, 1, 2>} : (tensor<5x2x1xi64>) -> tensor<5x2x3xi64>
  %2 = train.broadcast %ids {dims = array<i64: 2>} : (tensor<3xi64>) -> tensor<5x2x3xi64>
  %3 = train.compare "eq" %1, %2 : (tensor<5x2x3xi64>, tensor<5x2x3xi64>) -> tensor<5x2x3xi1>
  %4 = train.convert %3 : (tensor<5x2x3xi1>) -> tensor<5x2x3xf32>
  %5 = train.broadcast %w {dims = array<i64: 0, 1>} : (tensor<5x2xf32>) -> tensor<5x2x3xf32>
  %6 = train.mul %5, %4 : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
  %7 = train.reduce "sum" %6 {dims = array<i64: 1>} : (tensor<5x2x3xf32>) -> tensor<5x3xf32>
  %8 = train.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x6xf32>) -> tensor<6x3x4xf32>
  %9 = train.reshape %8 : (tensor<6x3x4xf32>) -> tensor<6x12xf32>
  %10 = train.matmul %x, %9 : (tensor<5x6xf32>, tensor<6x12xf32>) -> tensor<5x12xf32>
  %11 = train.reshape %10 : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %12 = train.broadcast %7 {dims = array<i64: 0, 1>} : (tensor<5x3xf32>) -> tensor<5x3x4xf32>
  %13 = train.mul %12, %11 : (tensor<5x3x4xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %14 = train.reduce "sum" %13 {dims = array<i64: 1>} : (tensor<5x3x4xf32>) -> tensor<5x4xf32>
  return %14 : tensor<5x4xf32>
}

// Tests what stays: one-hot numbers that are counted otherwise.
// CHECK-LABEL: func.func @counted_otherwise
// CHECK-NOT: train.grouped_matmul
func.func @counted_otherwise(%x: tensor<5x6xf32>, %a: tensor<3x4x6xf32>, %w: tensor<5x2xf32>, %i: tensor<5x2xi64>) -> tensor<5x4xf32> {
  %ids = train.constant dense<[0, 2, 1]> : tensor<3xi64>
  %1 = train.broadcast %i {dims = array<i64: 0, 1>} : (tensor<5x2xi64>) -> tensor<5x2x3xi64>
  %2 = train.broadcast %ids {dims = array<i64: 2>} : (tensor<3xi64>) -> tensor<5x2x3xi64>
  %3 = train.compare "eq" %1, %2 : (tensor<5x2x3xi64>, tensor<5x2x3xi64>) -> tensor<5x2x3xi1>
  %4 = train.convert %3 : (tensor<5x2x3xi1>) -> tensor<5x2x3xf32>
  %5 = train.broadcast %w {dims = array<i64: 0, 1>} : (tensor<5x2xf32>) -> tensor<5x2x3xf32>
  %6 = train.mul %5, %4 : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
  %7 = train.reduce "sum" %6 {dims = array<i64: 1>} : (tensor<5x2x3xf32>) -> tensor<5x3xf32>
  %8 = train.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x6xf32>) -> tensor<6x3x4xf32>
  %9 = train.reshape %8 : (tensor<6x3x4xf32>) -> tensor<6x12xf32>
  %10 = train.matmul %x, %9 : (tensor<5x6xf32>, tensor<6x12xf32>) -> tensor<5x12xf32>
  %11 = train.reshape %10 : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %12 = train.broadcast %7 {dims = array<i64: 0, 1>} : (tensor<5x3xf32>) -> tensor<5x3x4xf32>
  %13 = train.mul %12, %11 : (tensor<5x3x4xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %14 = train.reduce "sum" %13 {dims = array<i64: 1>} : (tensor<5x3x4xf32>) -> tensor<5x4xf32>
  return %14 : tensor<5x4xf32>
}
