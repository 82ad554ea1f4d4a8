// RUN: zc-opt %s --zc-lower-kernels | FileCheck %s

// Tests that an elementwise kernel is one linalg.generic over blocks of rows, and
// that an output which shares its input's buffer is no argument.
// CHECK-LABEL: sched.kernel @chain attributes {grid = 64 : i64
// CHECK: func.func @chain([[X:%[a-z0-9]+]]: memref<1024x768xf32> {llvm.noalias}, %[[B:.*]]: memref<768xf32> {llvm.noalias},
// CHECK-SAME: index, %{{.*}}: index) attributes {zc.buffers = array<i32: 0, 1>, zc.signature = array<i64: 64, 3145728, 3072, 3145728>}
// CHECK: scf.for
// CHECK: %[[ROWS:.*]] = memref.subview [[X]][%{{.*}}, 0] [16, 768] [1, 1]
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[ROWS]], %[[B]] : {{.*}}) outs(%[[ROWS]]
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
sched.kernel @chain attributes {shared = array<i64: 0, 0>} {
^bb0(%x: tensor<1024x768xf32>, %b: tensor<768xf32>):
  %0 = train.broadcast %b {dims = array<i64: 1>} : (tensor<768xf32>) -> tensor<1024x768xf32>
  %1 = train.add %x, %0 : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
  %2 = train.relu %1 : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
  train.yield %2 : tensor<1024x768xf32>
}

// Tests that a sum over rows is cut into columns, each computed whole.
// CHECK: func.func @columns([[X:%[a-z0-9]+]]: memref<1024x768xf32>
// CHECK: memref.subview [[X]][0, %{{.*}}] [1024, 64] [1, 1]
sched.kernel @columns {
^bb0(%x: tensor<1024x768xf32>):
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<1024x768xf32>) -> tensor<768xf32>
  train.yield %0 : tensor<768xf32>
}

// Tests that a softmax keeps its rows whole.
// CHECK: func.func @rows([[X:%[a-z0-9]+]]: memref<64x4x512xf32>
// CHECK: memref.subview [[X]][%{{.*}}, 0, 0] [8, 4, 512]
sched.kernel @rows {
^bb0(%x: tensor<64x4x512xf32>):
  %0 = train.softmax %x {dim = 2 : i64} : (tensor<64x4x512xf32>) -> tensor<64x4x512xf32>
  train.yield %0 : tensor<64x4x512xf32>
}
