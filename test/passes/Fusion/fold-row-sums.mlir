// RUN: zc-opt %s --split-input-file --zc-form-regions --zc-fold-row-sums | FileCheck %s

// Tests that a norm's rows are summed in the update, which keeps writing over the
// parameter, and that what needs the norm comes after it.
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[W:.*]]: tensor<256x16xf32>, %[[G:.*]]: tensor<256x16xf32>)
// CHECK: %[[NEW:.*]]:2 = train.fused(%[[G]], %[[W]]) {shared_buffers = array<i64: 0, 0, 1, 0>}
// CHECK-NEXT: ^bb0(%[[GRAD:.*]]: tensor<256x16xf32>, %{{.*}}: tensor<256x16xf32>):
// CHECK: %[[SUB:.*]] = train.sub
// CHECK: %[[SUMS:.*]] = train.reduce "sum_square" %[[GRAD]] {dims = array<i64: 1>}
// CHECK: train.yield %[[SUB]], %[[SUMS]]
// CHECK: train.fused(%[[NEW]]#1)
// CHECK: train.reduce "sum"
// CHECK-NOT: sum_square
func.func @update(%w: tensor<256x16xf32>, %g: tensor<256x16xf32>) -> (tensor<f32>, tensor<256x16xf32>) {
  %n = train.reduce "sum_square" %g {dims = array<i64: 1>} : (tensor<256x16xf32>) -> tensor<256xf32>
  %s = train.reduce "sum" %n {dims = array<i64: 0>} : (tensor<256xf32>) -> tensor<f32>
  %rate = train.constant dense<0.1> : tensor<256x16xf32>
  %d = train.mul %g, %rate : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  %w1 = train.sub %w, %d : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  return %s, %w1 : tensor<f32>, tensor<256x16xf32>
}

// -----

// Tests rows of what is seen as another shape: a filter's.
// CHECK-LABEL: func.func @filter
// CHECK: %[[NEW:.*]]:2 = train.fused
// CHECK: train.reduce "sum_square" %{{.*}} {dims = array<i64: 2, 3>} : (tensor<16x8x3x3xf32>) -> tensor<16x8xf32>
// CHECK: %[[FLAT:.*]] = train.reshape %[[NEW]]#1 : (tensor<16x8xf32>) -> tensor<128xf32>
// CHECK: return %[[FLAT]], %[[NEW]]#0
func.func @filter(%w: tensor<16x8x3x3xf32>, %g: tensor<16x8x3x3xf32>) -> (tensor<128xf32>, tensor<16x8x3x3xf32>) {
  %r = train.reshape %g : (tensor<16x8x3x3xf32>) -> tensor<128x9xf32>
  %n = train.reduce "sum_square" %r {dims = array<i64: 1>} : (tensor<128x9xf32>) -> tensor<128xf32>
  %w1 = train.sub %w, %g : (tensor<16x8x3x3xf32>, tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32>
  return %n, %w1 : tensor<128xf32>, tensor<16x8x3x3xf32>
}

// -----

// Tests what stays by itself: sums that the update waits for, sums of columns, of
// rows that cut a dim, of few rows, of what the loops read at another place.
// CHECK-LABEL: func.func @clipped
// CHECK: train.reduce "sum_square"
// CHECK-NEXT: train.yield %{{.*}} : tensor<256xf32>
func.func @clipped(%w: tensor<256x16xf32>, %g: tensor<256x16xf32>) -> tensor<256x16xf32> {
  %n = train.reduce "sum_square" %g {dims = array<i64: 1>} : (tensor<256x16xf32>) -> tensor<256xf32>
  %s = train.reduce "sum" %n {dims = array<i64: 0>} : (tensor<256xf32>) -> tensor<f32>
  %b = train.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<256x16xf32>
  %d = train.mul %g, %b : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  %w1 = train.sub %w, %d : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  return %w1 : tensor<256x16xf32>
}

// CHECK-LABEL: func.func @columns
// CHECK: train.reduce "sum"
// CHECK-NEXT: train.yield %{{.*}} : tensor<256xf32>
func.func @columns(%w: tensor<16x256xf32>, %g: tensor<16x256xf32>) -> (tensor<256xf32>, tensor<16x256xf32>) {
  %n = train.reduce "sum" %g {dims = array<i64: 0>} : (tensor<16x256xf32>) -> tensor<256xf32>
  %w1 = train.sub %w, %g : (tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xf32>
  return %n, %w1 : tensor<256xf32>, tensor<16x256xf32>
}

// CHECK-LABEL: func.func @cut
// CHECK: train.reduce "sum"
// CHECK-NEXT: train.yield %{{.*}} : tensor<384xf32>
func.func @cut(%w: tensor<192x16xf32>, %g: tensor<192x16xf32>) -> (tensor<384xf32>, tensor<192x16xf32>) {
  %r = train.reshape %g : (tensor<192x16xf32>) -> tensor<384x8xf32>
  %n = train.reduce "sum" %r {dims = array<i64: 1>} : (tensor<384x8xf32>) -> tensor<384xf32>
  %w1 = train.sub %w, %g : (tensor<192x16xf32>, tensor<192x16xf32>) -> tensor<192x16xf32>
  return %n, %w1 : tensor<384xf32>, tensor<192x16xf32>
}

// CHECK-LABEL: func.func @few
// CHECK: train.reduce "sum"
// CHECK-NEXT: train.yield %{{.*}} : tensor<127xf32>
func.func @few(%w: tensor<127x16xf32>, %g: tensor<127x16xf32>) -> (tensor<127xf32>, tensor<127x16xf32>) {
  %n = train.reduce "sum" %g {dims = array<i64: 1>} : (tensor<127x16xf32>) -> tensor<127xf32>
  %w1 = train.sub %w, %g : (tensor<127x16xf32>, tensor<127x16xf32>) -> tensor<127x16xf32>
  return %n, %w1 : tensor<127xf32>, tensor<127x16xf32>
}

// CHECK-LABEL: func.func @elsewhere
// CHECK: train.reduce "sum"
// CHECK-NEXT: train.yield %{{.*}} : tensor<256xf32>
func.func @elsewhere(%w: tensor<256x256xf32>, %g: tensor<256x256xf32>) -> (tensor<256xf32>, tensor<256x256xf32>) {
  %n = train.reduce "sum" %g {dims = array<i64: 1>} : (tensor<256x256xf32>) -> tensor<256xf32>
  %t = train.transpose %g {permutation = array<i64: 1, 0>} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %w1 = train.sub %w, %t : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %n, %w1 : tensor<256xf32>, tensor<256x256xf32>
}
