// RUN: zc-opt %s --split-input-file --zc-form-regions | FileCheck %s

// Tests that a chain of elementwise ops is one region, with the broadcast and the
// constant inside, and that a matmul has a region of its own.
// CHECK-LABEL: func.func @chain
// CHECK: %[[MM:.*]] = train.fused(%{{.*}}, %{{.*}}) : (tensor<8x4xf32>, tensor<4x4xf32>)
// CHECK: train.matmul
// CHECK: train.fused(%[[MM]], %{{.*}}) {shared_buffers = array<i64: 0, 0>} : (tensor<8x4xf32>, tensor<4xf32>)
// CHECK: train.broadcast
// CHECK: train.add
// CHECK: train.constant
// CHECK: train.mul
// CHECK: train.relu
func.func @chain(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %c = train.constant dense<2.0> : tensor<8x4xf32>
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.broadcast %b {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = train.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = train.mul %2, %c : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = train.relu %3 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// -----

// Tests that a region never comes to depend on itself: exp feeds the last add
// directly and through a matmul, so it cannot be in that add's region.
// CHECK-LABEL: func.func @no_cycle
// CHECK: %[[EXP:.*]] = train.fused
// CHECK: train.exp
// CHECK: %[[MM:.*]] = train.fused(%[[EXP]], %{{.*}})
// CHECK: train.matmul
// CHECK: train.fused(%[[EXP]], %[[MM]])
// CHECK: train.add
func.func @no_cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = train.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Tests that a value others need leaves the region too, and that an input read at
// another place than it is written at may not be overwritten.
// CHECK-LABEL: func.func @two_results
// CHECK: %{{.*}}:2 = train.fused(%{{.*}}, %{{.*}}) {shared_buffers = array<i64: 0, 0, 0, 1>}
// CHECK: train.yield %{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32>
func.func @two_results(%x: tensor<4x4xf32>, %b: tensor<4x1xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = train.broadcast %b {dims = array<i64: 0, 1>} : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %1 = train.add %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.tanh %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that data becomes a state, and equal data one state.
// CHECK: train.state @constant.0 "constant" : tensor<2xf32> {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK-NOT: @constant.1
// CHECK-LABEL: func.func @data
// CHECK-SAME: tensor<2xf32> {train.state = @constant.0}
func.func @data(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = train.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = train.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = train.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = train.mul %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Tests that what only a reduction needs is computed in the reduction's kernel,
// and that it is a kernel of its own where others need it or where there are too
// few sums for threads to share.
// CHECK-LABEL: func.func @reduction
// CHECK: train.fused(%{{.*}}, %{{.*}}) : (tensor<256x768xf32>, tensor<256x768xf32>) -> tensor<768xf32>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: train.mul
// CHECK-NEXT: train.exp
// CHECK-NEXT: train.reduce "sum"
// CHECK-NEXT: train.yield
// CHECK: %[[SUM:.*]] = train.fused
// CHECK: train.add
// CHECK: train.fused(%[[SUM]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: train.reduce "max"
// CHECK: %[[ROOT:.*]] = train.fused
// CHECK: train.sqrt
// CHECK: train.fused(%[[ROOT]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: train.reduce "sum"
func.func @reduction(%x: tensor<256x768xf32>, %y: tensor<256x768xf32>) -> (tensor<768xf32>, tensor<256x768xf32>, tensor<256xf32>, tensor<f32>) {
  %0 = train.mul %x, %y : (tensor<256x768xf32>, tensor<256x768xf32>) -> tensor<256x768xf32>
  %1 = train.exp %0 : (tensor<256x768xf32>) -> tensor<256x768xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0>} : (tensor<256x768xf32>) -> tensor<768xf32>
  %3 = train.add %x, %y : (tensor<256x768xf32>, tensor<256x768xf32>) -> tensor<256x768xf32>
  %4 = train.reduce "max" %3 {dims = array<i64: 1>} : (tensor<256x768xf32>) -> tensor<256xf32>
  %5 = train.sqrt %x : (tensor<256x768xf32>) -> tensor<256x768xf32>
  %6 = train.reduce "sum" %5 {dims = array<i64: 0, 1>} : (tensor<256x768xf32>) -> tensor<f32>
  return %2, %3, %4, %6 : tensor<768xf32>, tensor<256x768xf32>, tensor<256xf32>, tensor<f32>
}

// -----

// Tests that a part of a state, or of weights that were gathered, is a view where
// it begins as vectors like it and has no gaps, also as another shape, and a copy
// where not or where the whole is nowhere else.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: (%[[UNIT:[a-z0-9]+]]: tensor<64xf32>
// CHECK: %[[PART:.*]] = train.slice %[[UNIT]] {offsets = array<i64: 16>
// CHECK-NEXT: %[[ROWS:.*]] = train.reshape %[[PART]]
// CHECK-NEXT: train.slice %[[ROWS]] {offsets = array<i64: 2, 0>
// CHECK-NEXT: train.fused(%[[UNIT]])
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: train.slice %{{.*}} {offsets = array<i64: 1>
// CHECK: train.fused(%[[ROWS]])
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: train.slice %{{.*}} -> tensor<4x4xf32>
// CHECK: train.fused(%arg1)
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: train.slice
// CHECK: %[[WHOLE:.*]] = train.fused(%[[UNIT]])
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: dist.all_gather
// CHECK: train.slice %[[WHOLE]] {offsets = array<i64: 64>
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  train.state @unit "parameter" : tensor<64xf32>
  func.func @parts(%unit: tensor<64xf32> {train.state = @unit}, %x: tensor<64xf32> {train.input = "x"})
      -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<16xf32>) {
    %0 = train.slice %unit {offsets = array<i64: 16>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<32xf32>
    %1 = train.reshape %0 : (tensor<32xf32>) -> tensor<4x8xf32>
    %2 = train.slice %1 {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    // Begins at byte 4.
    %3 = train.slice %unit {offsets = array<i64: 1>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<16xf32>
    // Has gaps.
    %4 = train.slice %1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    // Is of an input.
    %5 = train.slice %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<16xf32>
    %6 = dist.all_gather %unit {axes = ["dp"], dim = 0 : i64, traffic = "parameters"} : (tensor<64xf32>) -> tensor<128xf32>
    %7 = train.slice %6 {offsets = array<i64: 64>, strides = array<i64: 1>} : (tensor<128xf32>) -> tensor<16xf32>
    return %1, %2, %3, %4, %5, %7 : tensor<4x8xf32>, tensor<2x8xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// Tests that a region ends with a sum that goes on growing, and says so: no term
// waits in memory for the last one.
// CHECK-LABEL: func.func @running
// CHECK: %[[FIRST:.*]] = train.fused({{.*}}running_sum
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: train.exp
// CHECK-NEXT: train.add %{{[^{]*}} :
// CHECK-NEXT: train.yield
// CHECK: train.fused({{.*}}%[[FIRST]]{{.*}}running_sum
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: train.neg
// CHECK-NEXT: train.add %{{[^{]*}} :
// CHECK-NEXT: train.yield
func.func @running(%a: tensor<256xf32>, %b: tensor<256xf32>, %c: tensor<256xf32>) -> tensor<256xf32> {
  %0 = train.exp %b : (tensor<256xf32>) -> tensor<256xf32>
  %1 = train.add %a, %0 {running_sum} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %2 = train.neg %c : (tensor<256xf32>) -> tensor<256xf32>
  %3 = train.add %1, %2 {running_sum} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  return %3 : tensor<256xf32>
}

// -----

// Tests that marked results have the numbers that the region's results have.
// CHECK-LABEL: func.func @kept_gradients
// CHECK: train.fused
// CHECK-SAME: gradients = array<i64: 1>, kept_gradients = array<i64: 1>
func.func @kept_gradients(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = train.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = train.mul %0, %y {train.kept_gradients = array<i64: 0>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
