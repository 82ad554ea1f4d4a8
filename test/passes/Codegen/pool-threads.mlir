// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels --split-input-file | FileCheck %s

// Tests that a thread has eight channels of 16 bits at one place, looks at all
// nine elements of their windows, and that what lies before the image is no
// number below its size.
// CHECK-LABEL: func.func @pool(
// CHECK-SAME: sched.own_threads
// CHECK-SAME: sched.signature = array<i64: 2, 256,
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %{{.*}}, %c288
// CHECK: scf.if %[[MINE]]
// CHECK: scf.for %[[ELEMENT:.*]] = %c0{{.*}} to %c9
// CHECK: %[[ROW:.*]] = arith.divui %[[ELEMENT]], %c3
// CHECK: arith.cmpi ult, %{{.*}}, %c12
// CHECK: arith.minui %{{.*}}, %c11
// CHECK-COUNT-8: memref.load %arg0
// CHECK: arith.cmpf ogt
// CHECK: arith.maximumf
// CHECK-COUNT-8: memref.store %{{.*}}, %arg1
// CHECK-COUNT-8: memref.store %{{.*}}, %arg2{{.*}}xi8>
sched.kernel @pool {
^bb0(%x: tensor<4x12x12x16xbf16>):
  %y, %p = train.max_pool_places %x {channels_last, dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>, window = array<i64: 3, 3>} : (tensor<4x12x12x16xbf16>) -> (tensor<4x6x6x16xbf16>, tensor<4x6x6x16xi8>)
  train.yield %y, %p : tensor<4x6x6x16xbf16>, tensor<4x6x6x16xi8>
}

// -----

// Tests that the gradient is gathered: a thread adds up what the four places
// give whose windows may have its element. Channels first, it has one element.
// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: sched.signature = array<i64: 36, 256,
// CHECK: scf.for %[[PLACE:.*]] = %c0{{.*}} to %c4{{.*}} iter_args(%[[SUM:.*]] =
// CHECK: %[[KEPT:.*]] = memref.load %arg0
// CHECK: %[[GRAD:.*]] = memref.load %arg1
// CHECK: arith.cmpi eq, %[[KEPT]]
// CHECK: arith.addf %[[SUM]]
// CHECK: memref.store %{{.*}}, %arg2
sched.kernel @gradient {
^bb0(%p: tensor<4x16x6x6xi8>, %g: tensor<4x16x6x6xf32>):
  %0 = train.max_pool_places_grad %p, %g {dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>, window = array<i64: 3, 3>} : (tensor<4x16x6x6xi8>, tensor<4x16x6x6xf32>) -> tensor<4x16x12x12xf32>
  train.yield %0 : tensor<4x16x12x12xf32>
}
