// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2" --zc-propagate-sharding | FileCheck %s

train.state @w "parameter" : tensor<4x3xf32>
train.state @accumulated.loss "accumulator" : tensor<f32>
train.state @accumulated.count "accumulator" : tensor<f32>

// Tests that sums over the batch are unreduced, that a mean's divisor is reduced
// and the quotient is not, that a parameter's gradient is reduced once, where it
// is computed, and that scalars spread to the batch's shape are spread in part.
// CHECK-LABEL: func.func @step
// CHECK: train.matmul %{{.*}} {dist.operands = [#dist.sharding<dp,_>, #dist.sharding<_,_>], dist.results = [#dist.sharding<dp,_>]}
// CHECK: %[[SUM:.*]] = train.reduce "sum" %{{.*}}dist.results = [#dist.sharding<unreduced dp>]
// CHECK: %[[COUNT:.*]] = train.reduce "sum" %{{.*}}dist.results = [#dist.sharding<unreduced dp>]
// CHECK: train.div %[[SUM]], %[[COUNT]] {dist.operands = [#dist.sharding<unreduced dp>, #dist.sharding<>], dist.results = [#dist.sharding<unreduced dp>]}
// CHECK: train.broadcast %[[COUNT]] {{.*}}dist.results = [#dist.sharding<dp,_>]
// CHECK: %[[G:.*]] = train.matmul {{.*}}dist.operands = [#dist.sharding<dp,_>, #dist.sharding<dp,_>], dist.results = [#dist.sharding<_,_ unreduced dp>]
// CHECK: %[[WHOLE:.*]] = dist.reshard %[[G]] {{.*}}dist.results = [#dist.sharding<_,_>], dist.traffic = "gradients"
// CHECK: train.sub %{{.*}}, %[[WHOLE]]
func.func @step(%w: tensor<4x3xf32> {train.state = @w},
                %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %c: tensor<8x3xf32> {train.input = "c", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4x3xf32> {train.state = @w}) {
  %y = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %s = train.reduce "sum" %y {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %n = train.reduce "sum" %c {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %loss = train.div %s, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %dy = train.broadcast %n {dims = array<i64>} : (tensor<f32>) -> tensor<8x3xf32>
  %g = train.matmul %x, %dy {transpose_lhs, train.gradients = array<i64: 0>} : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %w1 = train.sub %w, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %loss, %w1 : tensor<f32>, tensor<4x3xf32>
}

// Tests that an accumulator of sums stays unreduced, one of what every rank has
// whole does not.
// CHECK-LABEL: func.func @micro
// CHECK-SAME: #dist.sharding<unreduced dp>, train.state = @accumulated.loss
// CHECK-SAME: #dist.sharding<>, train.state = @accumulated.count
func.func @micro(%l: tensor<f32> {train.state = @accumulated.loss},
                 %n: tensor<f32> {train.state = @accumulated.count},
                 %x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.state = @accumulated.loss}, tensor<f32> {train.state = @accumulated.count}) {
  %s = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %eight = train.constant dense<8.0> : tensor<f32>
  %l1 = train.add %l, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %n1 = train.add %n, %eight : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l1, %n1 : tensor<f32>, tensor<f32>
}

// Tests that statistics of the batch become sums that are reduced once.
// CHECK-LABEL: func.func @normalise
// CHECK-NOT: batch_norm_training
// CHECK: train.reduce "sum" {{.*}}#dist.sharding<_ unreduced dp>
// CHECK: dist.reshard {{.*}}dist.traffic = "statistics"
// CHECK: train.reduce "sum" {{.*}}#dist.sharding<_ unreduced dp>
// CHECK: dist.reshard {{.*}}dist.traffic = "statistics"
// CHECK: train.batch_norm {{.*}}#dist.sharding<dp,_>
func.func @normalise(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64},
                     %scale: tensor<4xf32> {train.input = "s"}, %bias: tensor<4xf32> {train.input = "b"})
    -> (tensor<8x4xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %y, %m, %v = train.batch_norm_training %x, %scale, %bias {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y : tensor<8x4xf32>
}

// Tests that the gradient of a table is a sum over the batch: the zeros that it
// is added to are a sum of zeros.
// CHECK-LABEL: func.func @table
// CHECK: train.constant {dist.operands = [], dist.results = [#dist.sharding<_,_ unreduced dp>]}
// CHECK: train.scatter_add {{.*}}dist.results = [#dist.sharding<_,_ unreduced dp>]
func.func @table(%i: tensor<8xi64> {train.input = "i", train.batch_dim = 0 : i64},
                 %u: tensor<8x4xf32> {train.input = "u", train.batch_dim = 0 : i64})
    -> (tensor<6x4xf32> {train.output = "y"}) {
  %zero = train.constant dense<0.0> : tensor<6x4xf32>
  %g = train.scatter_add %zero, %i, %u {dim = 0 : i64} : (tensor<6x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %g : tensor<6x4xf32>
}

// Tests that each sample's own rows are read where the sample is.
// CHECK-LABEL: func.func @own_rows
// CHECK-NOT: dist.reshard
// CHECK: train.gather {{.*}}dist.operands = [#dist.sharding<dp,_,_>, #dist.sharding<dp>], dist.results = [#dist.sharding<dp,_>]
// CHECK: train.scatter_add {{.*}}dist.results = [#dist.sharding<dp,_,_>]
func.func @own_rows(%t: tensor<8x6x4xf32> {train.input = "t", train.batch_dim = 0 : i64},
                    %i: tensor<8xi64> {train.input = "i", train.batch_dim = 0 : i64})
    -> (tensor<8x6x4xf32> {train.output = "y", train.batch_dim = 0 : i64}) {
  %r = train.gather %t, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<8x6x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %s = train.scatter_add %t, %i, %r {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<8x6x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<8x6x4xf32>
  return %s : tensor<8x6x4xf32>
}

// Tests that terms that a rank takes for itself are not added up before, and that
// what is whole is divided among the rows.
train.state @accumulated.w "accumulator" : tensor<4xf32> {dist.sharding = #dist.sharding<_ unreduced dp>}
// CHECK-LABEL: func.func @terms
// CHECK-NOT: dist.reshard
// CHECK: dist.terms %{{.*}} {axes = ["dp"], dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<dp,_>]}
// CHECK: train.mul {{.*}}dist.results = [#dist.sharding<dp,_>]
// CHECK: dist.reshard {{.*}}dist.operands = [#dist.sharding<dp,_>], dist.results = [#dist.sharding<_,dp>]
// CHECK: dist.terms %{{.*}} {axes = ["dp"], dist.operands = [#dist.sharding<_>], dist.results = [#dist.sharding<dp,_>]}
func.func @terms(%g: tensor<4xf32> {train.state = @accumulated.w}, %w: tensor<4xf32> {train.input = "w"})
    -> (tensor<2x4xf32> {train.output = "a"}, tensor<2x4xf32> {train.output = "b"}) {
  %two = train.constant dense<2.0> : tensor<4xf32>
  %half = train.mul %g, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %rows = dist.terms %half {axes = ["dp"]} : (tensor<4xf32>) -> tensor<2x4xf32>
  %square = train.mul %rows, %rows : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %sent = dist.reshard %square {dist.sharding = #dist.sharding<_,dp>, dist.traffic = "gradients"} : tensor<2x4xf32>
  %own = dist.terms %w {axes = ["dp"]} : (tensor<4xf32>) -> tensor<2x4xf32>
  return %sent, %own : tensor<2x4xf32>, tensor<2x4xf32>
}

// Tests that a term that is to be added up stays one where it is widened, others
// are reduced while they are small.
// CHECK-LABEL: func.func @widened
// CHECK: train.convert %{{.*}}dist.operands = [#dist.sharding<_ unreduced dp>], dist.results = [#dist.sharding<_ unreduced dp>], stays_term
// CHECK: train.convert %{{.*}}dist.operands = [#dist.sharding<_>], dist.results = [#dist.sharding<_>]
func.func @widened(%x: tensor<8x4xf16> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<4xf32> {train.output = "a"}, tensor<4xf32> {train.output = "b"}) {
  %s = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8x4xf16>) -> tensor<4xf16>
  %a = train.convert %s {stays_term} : (tensor<4xf16>) -> tensor<4xf32>
  %t = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8x4xf16>) -> tensor<4xf16>
  %b = train.convert %t : (tensor<4xf16>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Tests that what is said of an op's results is said of the finer ops that take
// its place: here that gradients are kept until the end of the step.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: batch_norm_grad
// CHECK: %[[BIAS:.*]] = train.reduce "sum" %{{.*}}train.kept_gradients = array<i64: 0>
// CHECK: %[[SCALE:.*]] = train.mul %{{.*}}train.kept_gradients = array<i64: 0>
// CHECK: train.concat {{.*}}train.late, train.staging
func.func @kept(%scale: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>,
                %x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<8x4xf32> {train.output = "y", train.batch_dim = 0 : i64}, tensor<8xf32>) {
  %dx, %ds, %db = train.batch_norm_grad %x, %scale, %m, %v, %x {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64, train.kept_gradients = array<i64: 1, 2>} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %flat = train.concat %ds, %db {dim = 0 : i64, train.late, train.staging, dist.traffic = "gradients"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %sum = dist.reshard %flat {dist.sharding = #dist.sharding<_>, dist.traffic = "gradients"} : tensor<8xf32>
  return %dx, %sum : tensor<8x4xf32>, tensor<8xf32>
}
