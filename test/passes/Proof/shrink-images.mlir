// RUN: zc-opt %s --split-input-file --zc-shrink-dims=divisors=2 | FileCheck %s
// Tests images under windows: the least that leave two places everywhere, a
// skip edge past them, what is flattened, windows that fix a size, branches of
// several widths, sizes that are equal by chance, and unequal parts under one.

train.state @f "parameter" : tensor<6x3x7x7xf32>
train.state @g "parameter" : tensor<6x6x3x3xf32>
train.state @s "parameter" : tensor<6x6x1x1xf32>
// 9 elements leave 5 places, of which the next windows leave 3, and then 2.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4x3x9x9xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%f: tensor<6x3x7x7xf32> {train.state = @f}, %g: tensor<6x6x3x3xf32> {train.state = @g}, %s: tensor<6x6x1x1xf32> {train.state = @s}, %x: tensor<8x3x224x224xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x6xf32> {
  // CHECK: train.conv %{{.*}} -> tensor<4x[[C:[0-9]+]]x5x5xf32>
  %0 = train.conv %x, %f {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 3, 3>, pads_low = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<8x3x224x224xf32>, tensor<6x3x7x7xf32>) -> tensor<8x6x112x112xf32>
  // CHECK: train.max_pool %{{.*}} -> tensor<4x[[C]]x3x3xf32>
  %1 = train.max_pool %0 {dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>, window = array<i64: 3, 3>} : (tensor<8x6x112x112xf32>) -> tensor<8x6x56x56xf32>
  // CHECK: train.conv %{{.*}} -> tensor<4x[[C]]x2x2xf32>
  %2 = train.conv %1, %g {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<8x6x56x56xf32>, tensor<6x6x3x3xf32>) -> tensor<8x6x28x28xf32>
  // CHECK: train.conv %{{.*}} -> tensor<4x[[C]]x2x2xf32>
  %3 = train.conv %1, %s {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<8x6x56x56xf32>, tensor<6x6x1x1xf32>) -> tensor<8x6x28x28xf32>
  %4 = train.add %2, %3 : (tensor<8x6x28x28xf32>, tensor<8x6x28x28xf32>) -> tensor<8x6x28x28xf32>
  %5 = train.reduce "sum" %4 {dims = array<i64: 2, 3>} : (tensor<8x6x28x28xf32>) -> tensor<8x6xf32>
  return %5 : tensor<8x6xf32>
}

// -----

train.state @w "parameter" : tensor<150x10xf32>
// A flattened image: channels times rows times columns.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<[[F:[0-9]+]]x[[O:[0-9]+]]xf32> {train.state = @w}
// CHECK-SAME: tensor<4x[[C:[0-9]+]]x4x4xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%w: tensor<150x10xf32> {train.state = @w}, %x: tensor<8x6x10x10xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x10xf32> {
  // CHECK: train.average_pool %{{.*}} -> tensor<4x[[C]]x2x2xf32>
  %0 = train.average_pool %x {pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<8x6x10x10xf32>) -> tensor<8x6x5x5xf32>
  // CHECK: train.reshape %{{.*}} -> tensor<4x[[F]]xf32>
  %1 = train.reshape %0 : (tensor<8x6x5x5xf32>) -> tensor<8x150xf32>
  %2 = train.matmul %1, %w : (tensor<8x150xf32>, tensor<150x10xf32>) -> tensor<8x10xf32>
  return %2 : tensor<8x10xf32>
}

// -----

// A window as large as the image has one place of no other.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4x{{[0-9]+}}x14x14xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%x: tensor<8x6x14x14xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x6x1x1xf32> {
  %0 = train.max_pool %x {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<8x6x14x14xf32>) -> tensor<8x6x7x7xf32>
  %1 = train.average_pool %0 {pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>, window = array<i64: 7, 7>} : (tensor<8x6x7x7xf32>) -> tensor<8x6x1x1xf32>
  return %1 : tensor<8x6x1x1xf32>
}

// -----

train.state @p "parameter" : tensor<64x32x1x1xf32>
train.state @q "parameter" : tensor<128x32x1x1xf32>
train.state @r "parameter" : tensor<16x224x1x1xf32>
// A concatenation is as wide as its parts together.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4x4x2x2xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%p: tensor<64x32x1x1xf32> {train.state = @p}, %q: tensor<128x32x1x1xf32> {train.state = @q}, %r: tensor<16x224x1x1xf32> {train.state = @r}, %x: tensor<8x32x28x28xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x16x28x28xf32> {
  %0 = train.conv %x, %p {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x32x28x28xf32>, tensor<64x32x1x1xf32>) -> tensor<8x64x28x28xf32>
  %1 = train.conv %x, %q {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x32x28x28xf32>, tensor<128x32x1x1xf32>) -> tensor<8x128x28x28xf32>
  // CHECK: train.concat %{{.*}} {dim = 1 : i64} : (tensor<4x4x2x2xf32>, tensor<4x4x2x2xf32>, tensor<4x4x2x2xf32>) -> tensor<4x12x2x2xf32>
  %2 = train.concat %0, %1, %x {dim = 1 : i64} : (tensor<8x64x28x28xf32>, tensor<8x128x28x28xf32>, tensor<8x32x28x28xf32>) -> tensor<8x224x28x28xf32>
  %3 = train.conv %2, %r {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x224x28x28xf32>, tensor<16x224x1x1xf32>) -> tensor<8x16x28x28xf32>
  return %3 : tensor<8x16x28x28xf32>
}

// -----

train.state @w "parameter" : tensor<8x8x3x3xf32>
train.state @s "parameter" : tensor<8xf32>
train.state @b "parameter" : tensor<8xf32>
train.state @m "statistic" : tensor<8xf32>
train.state @v "statistic" : tensor<8xf32>
// As many samples and channels as rows and columns: they still divide among 2.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<4x4x2x2xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%w: tensor<8x8x3x3xf32> {train.state = @w}, %s: tensor<8xf32> {train.state = @s}, %b: tensor<8xf32> {train.state = @b}, %m: tensor<8xf32> {train.state = @m}, %v: tensor<8xf32> {train.state = @v}, %x: tensor<8x8x8x8xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x8x8x8xf32> {
  %0 = train.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<8x8x8x8xf32>, tensor<8x8x3x3xf32>) -> tensor<8x8x8x8xf32>
  // CHECK: train.batch_norm %{{.*}} -> tensor<4x4x2x2xf32>
  %1 = train.batch_norm %0, %s, %b, %m, %v {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<8x8x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x8x8x8xf32>
  %2 = train.softmax %1 {dim = 3 : i64} : (tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  return %2 : tensor<8x8x8x8xf32>
}

// -----

train.state @w "parameter" : tensor<1x1x3xf32>
// A window that slides over samples: they divide among 2 as before.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<6x1xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%w: tensor<1x1x3xf32> {train.state = @w}, %x: tensor<16x1xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<1x1x7xf32> {
  %0 = train.reshape %x : (tensor<16x1xf32>) -> tensor<1x1x16xf32>
  // CHECK: train.conv %{{.*}} -> tensor<1x1x2xf32>
  %1 = train.conv %0, %w {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x1x16xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  %2 = train.max_pool %1 {dilations = array<i64: 1>, pads_high = array<i64: 0>, pads_low = array<i64: 1>, strides = array<i64: 1>, window = array<i64: 2>} : (tensor<1x1x7xf32>) -> tensor<1x1x7xf32>
  return %2 : tensor<1x1x7xf32>
}

// -----

train.state @k "parameter" : tensor<8x4x7xf32>
train.state @l "parameter" : tensor<8x4x3xf32>
train.state @w "parameter" : tensor<8x4x3xf32>
// A window over unequal parts, some of which are such parts themselves: all
// keep their sizes.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: x7xf32> {train.state = @k}
// CHECK-SAME: x3xf32> {train.state = @l}
// CHECK-SAME: x50xf32> {train.batch_dim = 0 : i64, train.input = "x"
func.func @forward(%k: tensor<8x4x7xf32> {train.state = @k}, %l: tensor<8x4x3xf32> {train.state = @l}, %w: tensor<8x4x3xf32> {train.state = @w}, %x: tensor<8x4x50xf32> {train.input = "x", train.batch_dim = 0}) -> tensor<8x8x60xf32> {
  // CHECK: train.concat %{{.*}} -> tensor<4x{{[0-9]+}}x57xf32>
  %0 = train.concat %x, %k {dim = 2 : i64} : (tensor<8x4x50xf32>, tensor<8x4x7xf32>) -> tensor<8x4x57xf32>
  // CHECK: train.concat %{{.*}} -> tensor<4x{{[0-9]+}}x60xf32>
  %1 = train.concat %0, %l {dim = 2 : i64} : (tensor<8x4x57xf32>, tensor<8x4x3xf32>) -> tensor<8x4x60xf32>
  // CHECK: train.conv %{{.*}} -> tensor<4x{{[0-9]+}}x60xf32>
  %2 = train.conv %1, %w {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 1>} : (tensor<8x4x60xf32>, tensor<8x4x3xf32>) -> tensor<8x8x60xf32>
  return %2 : tensor<8x8x60xf32>
}
