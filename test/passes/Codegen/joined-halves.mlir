// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels --zc-distribute-threads | FileCheck %s

// Tests that halves are read where they are, each element's by its index in its
// half; and that neighbours' places there are sums of the first one's, which
// makes their reads one.
// CHECK-LABEL: gpu.func @turned
// CHECK: %[[I:.*]] = affine.apply #{{.*}}(%[[FIRST:.*]])
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c1
// CHECK: memref.load %{{.*}}
// CHECK: arith.cmpi ult, %{{.*}}, %c32
// CHECK: arith.select
sched.kernel @turned {
^bb0(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>):
  %low = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>, in_loops} : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %high = train.slice %x {offsets = array<i64: 0, 32>, strides = array<i64: 1, 1>, in_loops} : (tensor<64x64xf32>) -> tensor<64x32xf32>
  %neg = train.neg %high : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %turned = train.concat %neg, %low {dim = 1 : i64, in_loops} : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %y = train.mul %turned, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  train.yield %y : tensor<64x64xf32>
}
