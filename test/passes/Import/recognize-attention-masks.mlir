// RUN: zc-opt %s --zc-recognize-attention --canonicalize | FileCheck %s

train.state @tril "constant" : tensor<3x3xi1> {value = dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>}
train.state @rows "constant" : tensor<3x1xi64> {value = dense<[[0], [1], [2]]> : tensor<3x1xi64>}
train.state @bias "parameter" : tensor<3x3xf32>

// Tests that a bool that chooses between scores and a number that hides is known
// as the causal mask, either way round, as is one under a guard against rows
// that are hidden whole.
// CHECK-LABEL: func.func @bools
// CHECK: train.attention {{.*}}{causal, scale = 1.000000e+00 : f64}
// CHECK-NOT: train.select
// CHECK: train.attention {{.*}}{causal, scale = 1.000000e+00 : f64}
// CHECK-NOT: train.is_nan
// CHECK: return
func.func @bools(%q: tensor<2x3x8xf32>, %mask: tensor<3x3xi1> {train.state = @tril}) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %hidden = train.constant dense<-1.0e9> : tensor<2x3x3xf32>
  %zero = train.constant dense<0.0> : tensor<2x3x3xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %1 = train.broadcast %mask {dims = array<i64: 1, 2>} : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
  %2 = train.select %1, %0, %hidden : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = train.softmax %2 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %4 = train.matmul %3, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %5 = train.constant dense<[[false, true, true], [false, false, true], [false, false, false]]> : tensor<3x3xi1>
  %6 = train.broadcast %5 {dims = array<i64: 1, 2>} : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
  %7 = train.matmul %q, %4 {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %8 = train.select %6, %hidden, %7 : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %9 = train.softmax %8 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %10 = train.is_nan %9 : (tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  %11 = train.select %10, %zero, %9 : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %12 = train.matmul %11, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %4, %12 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// Tests that a mask that compares positions is known as the causal one: added
// numbers that a comparison chooses, and a choice between scores. One that
// leaves out the diagonal is another mask.
// CHECK-LABEL: func.func @positions
// CHECK: train.attention {{.*}}{causal, scale = 1.000000e+00 : f64}
// CHECK: train.attention {{.*}}{causal, scale = 1.000000e+00 : f64}
// CHECK: train.attention {{.*}}, %{{.*}} {scale = 1.000000e+00 : f64}
func.func @positions(%q: tensor<2x3x8xf32>, %row: tensor<3x1xi64> {train.state = @rows}) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %zero = train.constant dense<0.0> : tensor<3x3xf32>
  %hidden = train.constant dense<0xFF800000> : tensor<3x3xf32>
  %all = train.constant dense<0xFF800000> : tensor<2x3x3xf32>
  %rows = train.broadcast %row {dims = array<i64: 0, 1>} : (tensor<3x1xi64>) -> tensor<3x3xi64>
  %iota = train.iota {stride = 1 : i64} : () -> tensor<3xi64>
  %columns = train.broadcast %iota {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<3x3xi64>
  %0 = train.compare "lt" %rows, %columns : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
  %1 = train.select %0, %hidden, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %2 = train.broadcast %1 {dims = array<i64: 1, 2>} : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %3 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %4 = train.add %3, %2 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %5 = train.softmax %4 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %6 = train.matmul %5, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %7 = train.compare "le" %columns, %rows : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
  %8 = train.broadcast %7 {dims = array<i64: 1, 2>} : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
  %9 = train.matmul %q, %6 {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %10 = train.select %8, %9, %all : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %11 = train.softmax %10 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %12 = train.matmul %11, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %13 = train.compare "le" %rows, %columns : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
  %14 = train.select %13, %hidden, %zero : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %15 = train.broadcast %14 {dims = array<i64: 1, 2>} : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %16 = train.matmul %q, %12 {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %17 = train.add %16, %15 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %18 = train.softmax %17 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %19 = train.matmul %18, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %6, %12, %19 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// Tests that a mask that a batch brings is the op's, as small as it was before it
// was repeated, whether it is added or chooses.
// CHECK-LABEL: func.func @padding
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<2x1x1x3xf32>, %[[B:[a-z0-9]+]]: tensor<2x3xi1>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[M]] {scale = 5.000000e-01 : f64}
// CHECK: %[[SEEN:.*]] = train.reshape %[[B]] : (tensor<2x3xi1>) -> tensor<2x1x1x3xi1>
// CHECK: %[[MASK:.*]] = train.select %[[SEEN]], %{{.*}}, %{{.*}} : {{.*}} -> tensor<2x1x1x3xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]] {scale = 1.000000e+00 : f64}
func.func @padding(%q: tensor<2x4x3x8xf32>, %m: tensor<2x1x1x3xf32>, %b: tensor<2x3xi1>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) {
  %half = train.constant dense<0.5> : tensor<2x4x3x3xf32>
  %hidden = train.constant dense<0xFF800000> : tensor<2x4x3x3xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %1 = train.mul %0, %half : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %2 = train.broadcast %m {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x3xf32>) -> tensor<2x4x3x3xf32>
  %3 = train.add %2, %1 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %4 = train.softmax %3 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %5 = train.matmul %4, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %6 = train.matmul %5, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %7 = train.broadcast %b {dims = array<i64: 0, 3>} : (tensor<2x3xi1>) -> tensor<2x4x3x3xi1>
  %8 = train.select %7, %6, %hidden : (tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %9 = train.softmax %8 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %10 = train.matmul %9, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %5, %10 : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>
}

// Tests the guard of ONNX's function for Attention: rows of which the largest of the
// added mask is minus infinity.
// CHECK-LABEL: func.func @guarded_by_mask
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x3x8xf32>, %[[M:[a-z0-9]+]]: tensor<2x1x1x3xf32>
// CHECK: %[[R:.*]], %{{.*}} = train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[M]] {scale = 1.000000e+00 : f64}
// CHECK-NOT: train.select
// CHECK: return
func.func @guarded_by_mask(%q: tensor<2x4x3x8xf32>, %m: tensor<2x1x1x3xf32>) -> tensor<2x4x3x8xf32> {
  %zero = train.constant dense<0.0> : tensor<2x4x3x3xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x1x1xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %1 = train.broadcast %m {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x3xf32>) -> tensor<2x4x3x3xf32>
  %2 = train.add %0, %1 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %3 = train.softmax %2 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %4 = train.reduce "max" %m {dims = array<i64: 3>} : (tensor<2x1x1x3xf32>) -> tensor<2x1x1xf32>
  %5 = train.reshape %4 : (tensor<2x1x1xf32>) -> tensor<2x1x1x1xf32>
  %6 = train.compare "eq" %5, %lowest : (tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>) -> tensor<2x1x1x1xi1>
  %7 = train.broadcast %6 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x1xi1>) -> tensor<2x4x3x3xi1>
  %8 = train.select %7, %zero, %3 : (tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %9 = train.matmul %8, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %9 : tensor<2x4x3x8xf32>
}

// Tests that what asks another mask, or for another number, is no such guard.
// CHECK-LABEL: func.func @other_guards
// CHECK-NOT: train.attention
// CHECK: return
func.func @other_guards(%q: tensor<2x3x8xf32>, %m: tensor<3x3xf32>, %n: tensor<3x3xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %zero = train.constant dense<0.0> : tensor<2x3x3xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<3x1xf32>
  %low = train.constant dense<-1.0e9> : tensor<3x1xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %1 = train.broadcast %m {dims = array<i64: 1, 2>} : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %2 = train.add %0, %1 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = train.softmax %2 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %4 = train.reduce "max" %n {dims = array<i64: 1>} : (tensor<3x3xf32>) -> tensor<3xf32>
  %5 = train.reshape %4 : (tensor<3xf32>) -> tensor<3x1xf32>
  %6 = train.compare "eq" %5, %lowest : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xi1>
  %7 = train.broadcast %6 {dims = array<i64: 1, 2>} : (tensor<3x1xi1>) -> tensor<2x3x3xi1>
  %8 = train.select %7, %zero, %3 : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %9 = train.matmul %8, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %10 = train.matmul %9, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %11 = train.add %10, %1 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %12 = train.softmax %11 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %13 = train.reduce "max" %m {dims = array<i64: 1>} : (tensor<3x3xf32>) -> tensor<3xf32>
  %14 = train.reshape %13 : (tensor<3xf32>) -> tensor<3x1xf32>
  %15 = train.compare "eq" %14, %low : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xi1>
  %16 = train.broadcast %15 {dims = array<i64: 1, 2>} : (tensor<3x1xi1>) -> tensor<2x3x3xi1>
  %17 = train.select %16, %zero, %12 : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %18 = train.matmul %17, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %9, %18 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// Tests that a choice of a finite number lets no gradient into the queries that
// see no key: they become zeros.
// CHECK-LABEL: func.func @blind
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x3x8xf32>, %[[B:[a-z0-9]+]]: tensor<2x3xi1>
// CHECK: %[[SEEN:.*]] = train.select %{{.*}}, %{{.*}}, %{{.*}} : {{.*}} -> tensor<2x1x1x3xf32>
// CHECK: %[[ANY:.*]] = train.reduce "max" %[[SEEN]] {dims = array<i64: 3>}
// CHECK: %[[SHAPED:.*]] = train.reshape %[[ANY]] : (tensor<2x1x1xf32>) -> tensor<2x1x1x1xf32>
// CHECK: %[[FACTORS:.*]] = train.broadcast %[[SHAPED]] {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x1xf32>) -> tensor<2x4x3x8xf32>
// CHECK: %[[QUERY:.*]] = train.mul %[[Q]], %[[FACTORS]]
// CHECK: train.transpose %[[QUERY]]
// CHECK: train.attention
func.func @blind(%q: tensor<2x4x3x8xf32>, %b: tensor<2x3xi1>) -> tensor<2x4x3x8xf32> {
  %hidden = train.constant dense<-1.0e9> : tensor<2x4x3x3xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %1 = train.broadcast %b {dims = array<i64: 0, 3>} : (tensor<2x3xi1>) -> tensor<2x4x3x3xi1>
  %2 = train.select %1, %0, %hidden : (tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %3 = train.softmax %2 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %4 = train.matmul %3, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %4 : tensor<2x4x3x8xf32>
}

// Tests that a bias that is trained stays where its gradient is known, as does a
// number that hides too little.
// CHECK-LABEL: func.func @others
// CHECK-NOT: train.attention
// CHECK: return
func.func @others(%q: tensor<2x3x8xf32>, %bias: tensor<3x3xf32> {train.state = @bias}, %b: tensor<2x3xi1>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %hidden = train.constant dense<-1.0e4> : tensor<2x3x3xf32>
  %0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %1 = train.broadcast %bias {dims = array<i64: 1, 2>} : (tensor<3x3xf32>) -> tensor<2x3x3xf32>
  %2 = train.add %0, %1 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = train.softmax %2 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %4 = train.matmul %3, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %5 = train.broadcast %b {dims = array<i64: 0, 2>} : (tensor<2x3xi1>) -> tensor<2x3x3xi1>
  %6 = train.select %5, %0, %hidden : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %7 = train.softmax %6 {dim = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %8 = train.matmul %7, %q : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %4, %8 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// Tests that a mask of keys that is repeated for all queries, and joined with
// one that hides nothing, stays one of keys; and that one of queries does not.
// CHECK-LABEL: func.func @repeated
// CHECK: %[[MASK:.*]] = train.select {{.*}} : (tensor<2x1x1x3xi1>, tensor<2x1x1x3xf32>, tensor<2x1x1x3xf32>) -> tensor<2x1x1x3xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]] {{.*}}tensor<2x1x1x3xf32>
// CHECK: train.attention {{.*}}tensor<2x1x3x3xf32>
func.func @repeated(%q: tensor<2x4x3x8xf32>, %seen: tensor<2x3xi1>, %pairs: tensor<2x1x3x3xi1>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) {
  %all = train.constant dense<true> : tensor<2x1x3x3xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x3x3xf32>
  %hidden = train.constant dense<0xFF800000> : tensor<2x1x3x3xf32>
  %0 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x3xi1>) -> tensor<2x1x3x3xi1>
  %1 = train.and %0, %all : (tensor<2x1x3x3xi1>, tensor<2x1x3x3xi1>) -> tensor<2x1x3x3xi1>
  %2 = train.select %1, %zero, %hidden : (tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>, tensor<2x1x3x3xf32>) -> tensor<2x1x3x3xf32>
  %3 = train.broadcast %2 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x3x3xf32>) -> tensor<2x4x3x3xf32>
  %4 = train.matmul %q, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %5 = train.add %4, %3 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %6 = train.softmax %5 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %7 = train.matmul %6, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %8 = train.and %pairs, %0 : (tensor<2x1x3x3xi1>, tensor<2x1x3x3xi1>) -> tensor<2x1x3x3xi1>
  %9 = train.select %8, %zero, %hidden : (tensor<2x1x3x3xi1>, tensor<2x1x3x3xf32>, tensor<2x1x3x3xf32>) -> tensor<2x1x3x3xf32>
  %10 = train.broadcast %9 {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x3x3xf32>) -> tensor<2x4x3x3xf32>
  %14 = train.matmul %q, %q {transpose_rhs} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x3xf32>
  %11 = train.add %14, %10 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %12 = train.softmax %11 {dim = 3 : i64} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %13 = train.matmul %12, %q : (tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %7, %13 : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>
}
