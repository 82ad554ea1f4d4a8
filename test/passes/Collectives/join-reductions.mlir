// RUN: zc-opt %s --zc-join-reductions="bucket-bytes=64" | FileCheck %s
// RUN: zc-opt %s --zc-join-reductions="bucket-bytes=0" | FileCheck %s --check-prefix=ALONE
// RUN: zc-opt %s --zc-join-reductions="fewest=2" | FileCheck %s --check-prefix=HALVES

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // Tests that gradients are sent together where the last of them is ready, and
  // that what comes of it are parts of one sum.
  // CHECK-LABEL: func.func @together
  // CHECK: train.exp %arg0
  // CHECK-NEXT: train.exp %arg1
  // CHECK-NEXT: %[[A:.*]] = train.reshape %{{.*}} : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %[[FLAT:.*]] = train.concat %[[A]], %{{.*}} {dim = 0 : i64, train.staging} : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
  // CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce %[[FLAT]] {axes = ["dp"], traffic = "gradients", train.staging}
  // CHECK-NEXT: %[[PART:.*]] = train.slice %[[SUM]] {offsets = array<i64: 0>, strides = array<i64: 1>, train.gradients = array<i64: 0>}
  // CHECK-NEXT: train.reshape %[[PART]] : (tensor<6xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: train.slice %[[SUM]] {offsets = array<i64: 6>
  // CHECK-NEXT: train.neg
  // ALONE-LABEL: func.func @together
  // ALONE-COUNT-2: dist.all_reduce
  func.func @together(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
    %0 = train.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients", train.gradients = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = train.exp %b : (tensor<4xf32>) -> tensor<4xf32>
    %3 = dist.all_reduce %2 {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = train.neg %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %4, %3 : tensor<2x3xf32>, tensor<4xf32>
  }

  // Tests that a bucket is no larger than asked for, and that what is as large
  // is sent where it lies while small ones wait for one another.
  // HALVES-LABEL: func.func @limit
  // HALVES-NEXT: dist.all_reduce %arg0
  // HALVES-NEXT: dist.all_reduce %arg1
  // HALVES: dist.all_reduce {{.*}} : (tensor<12xf32>) -> tensor<12xf32>
  // CHECK-LABEL: func.func @limit
  // CHECK: dist.all_reduce %arg1 {{.*}} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: train.concat %arg0, %arg2
  // CHECK-NEXT: dist.all_reduce {{.*}} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: dist.all_reduce %arg3
  func.func @limit(%a: tensor<8xf32>, %b: tensor<16xf32>, %c: tensor<8xf32>, %d: tensor<4xf32>)
      -> (tensor<8xf32>, tensor<16xf32>, tensor<8xf32>, tensor<4xf32>) {
    %0 = dist.all_reduce %a {axes = ["dp"], traffic = "gradients"} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_reduce %b {axes = ["dp"], traffic = "gradients"} : (tensor<16xf32>) -> tensor<16xf32>
    %2 = dist.all_reduce %c {axes = ["dp"], traffic = "gradients"} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = dist.all_reduce %d {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1, %2, %3 : tensor<8xf32>, tensor<16xf32>, tensor<8xf32>, tensor<4xf32>
  }

  // Tests that nobody waits for what comes later, and that along other axes, of
  // another type or of another kind nothing is joined.
  // CHECK-LABEL: func.func @apart
  // CHECK-NOT: train.concat
  // CHECK-COUNT-6: dist.all_reduce
  // CHECK-NOT: train.concat
  // CHECK: return
  func.func @apart(%a: tensor<4xf32>, %b: tensor<4xf64>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>) {
    %0 = dist.all_reduce %a {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = train.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    %2 = dist.all_reduce %1 {axes = ["dp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = dist.all_reduce %a {axes = ["tp"], traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = dist.all_reduce %b {axes = ["dp"], traffic = "gradients"} : (tensor<4xf64>) -> tensor<4xf64>
    %5 = dist.all_reduce %a {axes = ["dp"], traffic = "activations"} : (tensor<4xf32>) -> tensor<4xf32>
    %6 = dist.all_reduce %1 {axes = ["dp"], traffic = "activations"} : (tensor<4xf32>) -> tensor<4xf32>
    return %2, %3, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>
  }

  // Tests that gradients that are reduced in a wider type are joined in their
  // own and widened together, also where they are narrowed at once, and are not
  // joined with what is of that type.
  // CHECK-LABEL: func.func @widened
  // CHECK-NEXT: train.reshape %arg0 : (tensor<2x3xbf16>) -> tensor<6xbf16>
  // CHECK: %[[FLAT:.*]] = train.concat %{{.*}} {dim = 0 : i64, train.staging} : (tensor<6xbf16>, tensor<4xbf16>) -> tensor<10xbf16>
  // CHECK-NEXT: %[[WIDE:.*]] = train.convert %[[FLAT]] {train.staging} : (tensor<10xbf16>) -> tensor<10xf32>
  // CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce %[[WIDE]] {axes = ["dp"], traffic = "gradients", train.staging}
  // CHECK-NEXT: %[[BACK:.*]] = train.convert %[[SUM]] {train.staging} : (tensor<10xf32>) -> tensor<10xbf16>
  // CHECK-NEXT: train.slice %[[BACK]] {offsets = array<i64: 0>, strides = array<i64: 1>, train.gradients = array<i64: 0>}
  // CHECK-NEXT: train.reshape
  // CHECK-NEXT: train.slice %[[BACK]] {offsets = array<i64: 6>
  // CHECK: dist.all_reduce %arg2
  // CHECK-NOT: dist.all_reduce
  // CHECK: train.neg
  // ALONE-LABEL: func.func @widened
  // ALONE-COUNT-3: dist.all_reduce
  func.func @widened(%a: tensor<2x3xbf16>, %b: tensor<4xbf16>, %c: tensor<2xf32>) -> (tensor<2x3xbf16>, tensor<4xbf16>, tensor<2xf32>) {
    %0 = train.convert %a {train.staging} : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients", train.staging} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = train.convert %1 {train.gradients = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %3 = train.convert %b {train.staging} : (tensor<4xbf16>) -> tensor<4xf32>
    %4 = dist.all_reduce %3 {axes = ["dp"], traffic = "gradients", train.staging} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = train.convert %4 : (tensor<4xf32>) -> tensor<4xbf16>
    %6 = dist.all_reduce %c {axes = ["dp"], traffic = "gradients"} : (tensor<2xf32>) -> tensor<2xf32>
    %7 = train.neg %2 : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
    return %7, %5, %6 : tensor<2x3xbf16>, tensor<4xbf16>, tensor<2xf32>
  }

  // Tests that scalars go together whatever the size of a bucket.
  // ALONE-LABEL: func.func @scalars
  // ALONE: train.concat %{{.*}} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  // ALONE-NEXT: dist.all_reduce %{{.*}} {axes = ["dp"], traffic = "scalars"} : (tensor<3xf32>) -> tensor<3xf32>
  // ALONE-NOT: dist.all_reduce
  func.func @scalars(%a: tensor<f32>, %b: tensor<1xf32>, %c: tensor<f32>) -> (tensor<f32>, tensor<1xf32>, tensor<f32>) {
    %0 = dist.all_reduce %a {axes = ["dp"], traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_reduce %b {axes = ["dp"], traffic = "scalars"} : (tensor<1xf32>) -> tensor<1xf32>
    %2 = dist.all_reduce %c {axes = ["dp"], traffic = "scalars"} : (tensor<f32>) -> tensor<f32>
    return %0, %1, %2 : tensor<f32>, tensor<1xf32>, tensor<f32>
  }

  // Tests that statistics of one root go together, and those of another do not.
  // ALONE-LABEL: func.func @statistics
  // ALONE-NEXT: train.concat %arg0, %arg2
  // ALONE-NEXT: dist.broadcast %{{.*}} {axes = ["dp"], root = 0 : i64, traffic = "statistics"} : (tensor<10xf32>) -> tensor<10xf32>
  // ALONE: dist.broadcast %arg1 {axes = ["dp"], root = 1 : i64
  // ALONE-NOT: dist.broadcast
  func.func @statistics(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<6xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<6xf32>) {
    %0 = dist.broadcast %a {axes = ["dp"], root = 0 : i64, traffic = "statistics"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = dist.broadcast %c {axes = ["dp"], root = 0 : i64, traffic = "statistics"} : (tensor<6xf32>) -> tensor<6xf32>
    %2 = dist.broadcast %b {axes = ["dp"], root = 1 : i64, traffic = "statistics"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %2, %1 : tensor<4xf32>, tensor<4xf32>, tensor<6xf32>
  }

  // Tests that a reshape of what is there goes behind what is not yet there.
  // ALONE-LABEL: func.func @views
  // ALONE: dist.broadcast %{{.*}} : (tensor<8xf32>) -> tensor<8xf32>
  // ALONE: %[[FIRST:.*]] = train.reshape %{{.*}} : (tensor<1x4xf32>) -> tensor<4xf32>
  // ALONE-NOT: dist.broadcast
  // ALONE: train.neg %[[FIRST]]
  func.func @views(%a: tensor<1x4xf32>, %b: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = dist.broadcast %a {axes = ["dp"], root = 0 : i64, traffic = "statistics"} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %1 = train.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
    %2 = dist.broadcast %b {axes = ["dp"], root = 0 : i64, traffic = "statistics"} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %3 = train.reshape %2 : (tensor<1x4xf32>) -> tensor<4xf32>
    %4 = train.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
    return %4, %3 : tensor<4xf32>, tensor<4xf32>
  }

  // Tests that numbers of which each rank wants the largest of all are gathered
  // together, and those that somebody reads in between are not. A rank that has
  // several sends the largest.
  // ALONE-LABEL: func.func @largest
  // ALONE: %[[FLAT:.*]] = train.concat %{{.*}} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  // ALONE-NEXT: %[[ROW:.*]] = train.reshape %[[FLAT]] : (tensor<2xf32>) -> tensor<1x2xf32>
  // ALONE-NEXT: %[[ALL:.*]] = dist.all_gather %[[ROW]] {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1x2xf32>) -> tensor<2x2xf32>
  // ALONE-NEXT: %[[MOST:.*]] = train.amax %[[ALL]] dims [0] : (tensor<2x2xf32>) -> tensor<2xf32>
  // ALONE-NEXT: train.slice %[[MOST]] {offsets = array<i64: 0>
  // ALONE: train.slice %[[MOST]] {offsets = array<i64: 1>
  // ALONE: train.neg
  // ALONE: train.amax %arg3 dims [0] : (tensor<4xf32>) -> tensor<f32>
  // ALONE: dist.all_gather %{{.*}} {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1x2xf32>) -> tensor<2x2xf32>
  // ALONE-NOT: dist.all_gather
  func.func @largest(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>, %d: tensor<4xf32>)
      -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
    %0 = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1xf32>) -> tensor<2xf32>
    %1 = train.amax %0 dims [0] : (tensor<2xf32>) -> tensor<f32>
    %2 = dist.all_gather %b {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1xf32>) -> tensor<2xf32>
    %3 = train.amax %2 dims [0] : (tensor<2xf32>) -> tensor<f32>
    %4 = train.neg %1 : (tensor<f32>) -> tensor<f32>
    %5 = dist.all_gather %c {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1xf32>) -> tensor<2xf32>
    %6 = train.amax %5 dims [0] : (tensor<2xf32>) -> tensor<f32>
    %7 = dist.all_gather %d {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<4xf32>) -> tensor<8xf32>
    %8 = train.amax %7 dims [0] : (tensor<8xf32>) -> tensor<f32>
    return %4, %3, %6, %8 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }

  // Tests that a tensor that several axes divide is measured before it is
  // gathered, once for all of them, and that rows' magnitudes stay rows'.
  // ALONE-LABEL: func.func @rows
  // ALONE: %[[MOST:.*]] = train.amax %arg0 dims [0, 1, 2] : (tensor<1x16x1xf32>) -> tensor<f32>
  // ALONE: dist.all_gather %{{.*}} {axes = ["tp", "dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1xf32>) -> tensor<4xf32>
  // ALONE: dist.all_gather %arg1 {axes = ["tp"], dim = 0 : i64, traffic = "activations"}
  // ALONE-NOT: dist.all_gather
  func.func @rows(%a: tensor<1x16x1xf32>, %b: tensor<1x16xf32>) -> (tensor<f32>, tensor<16xf32>) {
    %0 = dist.all_gather %a {axes = ["tp"], dim = 0 : i64, traffic = "activations"} : (tensor<1x16x1xf32>) -> tensor<2x16x1xf32>
    %1 = train.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x16x1xf32>) -> tensor<16x2x1xf32>
    %2 = train.reshape %1 : (tensor<16x2x1xf32>) -> tensor<16x2xf32>
    %3 = train.amax %2 dims [1] : (tensor<16x2xf32>) -> tensor<16xf32>
    %4 = train.reshape %3 : (tensor<16xf32>) -> tensor<1x16xf32>
    %5 = train.amax %4 dims [1] : (tensor<1x16xf32>) -> tensor<1xf32>
    %6 = dist.all_gather %5 {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1xf32>) -> tensor<2xf32>
    %7 = train.amax %6 dims [0] : (tensor<2xf32>) -> tensor<f32>
    %8 = dist.all_gather %b {axes = ["tp"], dim = 0 : i64, traffic = "activations"} : (tensor<1x16xf32>) -> tensor<2x16xf32>
    %9 = train.amax %8 dims [0] : (tensor<2x16xf32>) -> tensor<16xf32>
    return %7, %9 : tensor<f32>, tensor<16xf32>
  }

  // Tests that sums that stay whole are sent with others, as sums that need not:
  // joined, none of them is scattered.
  // CHECK-LABEL: func.func @whole
  // CHECK: dist.all_reduce %{{.*}} {axes = ["dp"], traffic = "gradients", train.staging}
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  func.func @whole(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = dist.all_reduce %a {axes = ["dp"], stays_whole, traffic = "gradients"} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = dist.all_reduce %b {axes = ["dp"], traffic = "gradients"} : (tensor<2xf32>) -> tensor<2xf32>
    return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
}
