// RUN: zc-opt %s --zc-exchange-halos="parts=2" | FileCheck %s
// RUN: zc-opt %s --zc-exchange-halos="parts=4 dims=image=2" | FileCheck %s --check-prefix=HAND

// Tests that a convolution in front of an attention, and the one in front of
// that, get the edges of the blocks beside theirs: two tokens of the block
// before, and none of the one behind. A window of one place gets none.
// CHECK-LABEL: func.func @step
// CHECK: %[[BLOCKS:.*]] = train.reshape %arg0 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
// CHECK: %[[EDGES:.*]] = train.slice %[[BLOCKS]] {offsets = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>} : (tensor<4x8x2x8xf32>) -> tensor<4x8x2x2xf32>
// CHECK: %[[KEPT:.*]] = train.slice %[[EDGES]] {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<4x8x2x2xf32>) -> tensor<4x8x1x2xf32>
// CHECK: %[[BEFORE:.*]] = train.pad %[[KEPT]] {interior = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 0, 1, 0>} : (tensor<4x8x1x2xf32>) -> tensor<4x8x2x2xf32>
// CHECK: %[[ALL:.*]] = train.concat %[[BEFORE]], %[[BLOCKS]] {dim = 3 : i64}
// CHECK: train.conv %[[ALL]], %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x8x2x10xf32>, tensor<8x8x1x3xf32>) -> tensor<4x8x2x8xf32>
// CHECK: train.conv %{{.*}} : (tensor<4x8x16xf32>, tensor<8x8x1xf32>) -> tensor<4x8x16xf32>
func.func @step(%x: tensor<4x8x16xf32> {train.input = "x", train.batch_dim = 0 : i64},
                %w: tensor<8x8x3xf32>, %one: tensor<8x8x1xf32>)
    -> (tensor<4x16x2x4xf32> {train.output = "y"}) {
  %0 = train.conv %x, %w {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 0>, pads_low = array<i64: 2>, strides = array<i64: 1>} : (tensor<4x8x16xf32>, tensor<8x8x3xf32>) -> tensor<4x8x16xf32>
  %1 = train.conv %0, %one {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 1>} : (tensor<4x8x16xf32>, tensor<8x8x1xf32>) -> tensor<4x8x16xf32>
  %2 = train.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<4x8x16xf32>) -> tensor<4x16x8xf32>
  %3 = train.reshape %2 : (tensor<4x16x8xf32>) -> tensor<4x16x2x4xf32>
  %result, %sums = train.attention %3, %3, %3 {scale = 1.0 : f64} : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>) -> (tensor<4x16x2x4xf32>, tensor<4x2x16xf32>)
  return %result : tensor<4x16x2x4xf32>
}

// Tests that rows of an image are tokens where the user says so, with a stride,
// and that windows beyond the neighbour's block stay.
// CHECK-LABEL: func.func @image
// CHECK-NOT: train.slice
// HAND-LABEL: func.func @image
// HAND: train.conv %{{.*}} {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0, 1>, pads_low = array<i64: 0, 0, 1>, strides = array<i64: 1, 2, 2>} : (tensor<2x3x4x5x8xf32>, tensor<6x3x1x3x3xf32>) -> tensor<2x6x4x2x4xf32>
// HAND: train.conv %{{.*}} : (tensor<2x6x8x4xf32>, tensor<6x6x9x1xf32>) -> tensor<2x6x8x4xf32>
func.func @image(%x: tensor<2x3x16x8xf32> {train.input = "image", train.batch_dim = 0 : i64},
                 %w: tensor<6x3x3x3xf32>, %far: tensor<6x6x9x1xf32>)
    -> (tensor<2x6x8x4xf32> {train.output = "z"}) {
  %0 = train.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x3x16x8xf32>, tensor<6x3x3x3xf32>) -> tensor<2x6x8x4xf32>
  %1 = train.conv %0, %far {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 4, 0>, pads_low = array<i64: 4, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x8x4xf32>, tensor<6x6x9x1xf32>) -> tensor<2x6x8x4xf32>
  return %1 : tensor<2x6x8x4xf32>
}
