// RUN: zc-opt %s | zc-opt | FileCheck %s
// Tests that every op prints as it is read.

// Tests functions of one element.
// CHECK-LABEL: @unary(
func.func @unary(%0: tensor<3x4xf32>) {
  // CHECK: train.neg %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r0 = train.neg %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.abs %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r1 = train.abs %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.exp %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r2 = train.exp %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.log %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r3 = train.log %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.sqrt %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r4 = train.sqrt %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.rsqrt %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r5 = train.rsqrt %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.tanh %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r6 = train.tanh %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.erf %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r7 = train.erf %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.sin %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r8 = train.sin %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.cos %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r9 = train.cos %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.sigmoid %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r10 = train.sigmoid %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.relu %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r11 = train.relu %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.gelu %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r12 = train.gelu %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.gelu %{{.*}} {tanh} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r13 = train.gelu %0 {tanh} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.is_nan %{{.*}} : (tensor<3x4xf32>) -> tensor<3x4xi1>
  %r14 = train.is_nan %0 : (tensor<3x4xf32>) -> tensor<3x4xi1>
  return
}

// Tests functions of two elements.
// CHECK-LABEL: @binary(
func.func @binary(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) {
  // CHECK: train.add %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r0 = train.add %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.sub %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r1 = train.sub %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.mul %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r2 = train.mul %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.div %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r3 = train.div %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.max %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r4 = train.max %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.min %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r5 = train.min %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.pow %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r6 = train.pow %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.gelu_grad %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r7 = train.gelu_grad %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK: train.compare "lt" %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
  %r8 = train.compare "lt" %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
  return
}

// Tests booleans.
// CHECK-LABEL: @logical(
func.func @logical(%0: tensor<4xi1>, %1: tensor<4xi1>, %2: tensor<4xf32>, %3: tensor<4xf32>) {
  // CHECK: train.not %{{.*}} : (tensor<4xi1>) -> tensor<4xi1>
  %r0 = train.not %0 : (tensor<4xi1>) -> tensor<4xi1>
  // CHECK: train.and %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %r1 = train.and %0, %1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: train.or %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %r2 = train.or %0, %1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: train.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r3 = train.select %0, %2, %3 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: train.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xi64>
  %r4 = train.convert %2 : (tensor<4xf32>) -> tensor<4xi64>
  return
}

// Tests ops that move elements and that reduce them.
// CHECK-LABEL: @shapes(
func.func @shapes(%0: tensor<3x4xf32>, %1: tensor<4xf32>) {
  // CHECK: train.constant dense<1.000000e+00> : tensor<2xf32>
  %r0 = train.constant dense<1.000000e+00> : tensor<2xf32>
  // CHECK: train.broadcast %{{.*}} {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<3x4xf32>
  %r1 = train.broadcast %1 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK: train.reshape %{{.*}} : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %r2 = train.reshape %0 : (tensor<3x4xf32>) -> tensor<2x6xf32>
  // CHECK: train.transpose %{{.*}} {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %r3 = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 1, 0>, strides = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x2xf32>
  %r4 = train.slice %0 {offsets = array<i64: 1, 0>, strides = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x2xf32>
  // CHECK: train.pad %{{.*}} {interior = array<i64: 0, 1>, low = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<5x7xf32>
  %r5 = train.pad %0 {interior = array<i64: 0, 1>, low = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<5x7xf32>
  // CHECK: train.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %r6 = train.concat %0, %0 {dim = 0 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  // CHECK: train.split %{{.*}} {dim = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3x3xf32>)
  %s:2 = train.split %0 {dim = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3x3xf32>)
  // CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %r7 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: train.reduce "max" %{{.*}} {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %r8 = train.reduce "max" %0 {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: train.reduce "min" %{{.*}} {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %r9 = train.reduce "min" %0 {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: train.reduce "prod" %{{.*}} {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %r10 = train.reduce "prod" %0 {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// Tests matmul, convolution and pooling.
// CHECK-LABEL: @contractions(
func.func @contractions(%0: tensor<4x3xf32>, %1: tensor<4x5xf32>, %2: tensor<2x3x8x8xf32>, %3: tensor<5x3x3x3xf32>, %4: tensor<2x5x8x8xf32>, %5: tensor<2x3x4x4xf32>) {
  // CHECK: train.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %r0 = train.matmul %0, %1 {transpose_lhs} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  // CHECK: train.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x5x8x8xf32>
  %r1 = train.conv %2, %3 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x5x8x8xf32>
  // CHECK: train.conv_input_grad %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %r2 = train.conv_input_grad %4, %3 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: train.conv_filter_grad %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<2x5x8x8xf32>) -> tensor<5x3x3x3xf32>
  %r3 = train.conv_filter_grad %2, %4 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<2x5x8x8xf32>) -> tensor<5x3x3x3xf32>
  // CHECK: train.max_pool %{{.*}} {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  %r4 = train.max_pool %2 {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32>
  // CHECK: train.max_pool_grad %{{.*}}, %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>, tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x8x8xf32>
  %r5 = train.max_pool_grad %2, %5, %5 {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>, tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: train.average_pool %{{.*}} {channels_last, count_include_pad, pads_high = array<i64: 1, 0>, pads_low = array<i64: 0, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x2x8x8xf32>
  %r6 = train.average_pool %2 {channels_last, count_include_pad, pads_high = array<i64: 1, 0>, pads_low = array<i64: 0, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x2x8x8xf32>
  // CHECK: train.average_pool_grad %{{.*}} {channels_last, pads_high = array<i64: 1, 0>, pads_low = array<i64: 0, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 2>} : (tensor<2x2x8x8xf32>) -> tensor<2x3x8x8xf32>
  %r7 = train.average_pool_grad %r6 {channels_last, pads_high = array<i64: 1, 0>, pads_low = array<i64: 0, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 2>} : (tensor<2x2x8x8xf32>) -> tensor<2x3x8x8xf32>
  return
}

// Tests what is kept for the backward in fewer bytes.
// CHECK-LABEL: @kept(
func.func @kept(%0: tensor<2x3x8x8xf32>, %1: tensor<17x4xi1>) {
  // CHECK: train.max_pool_places %{{.*}} {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi8>)
  %r0:2 = train.max_pool_places %0 {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi8>)
  // CHECK: train.max_pool_places_grad %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x4x4xi8>, tensor<2x3x4x4xf32>) -> tensor<2x3x8x8xf32>
  %r1 = train.max_pool_places_grad %r0#1, %r0#0 {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<2x3x4x4xi8>, tensor<2x3x4x4xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: train.pack_bits %{{.*}} {dim = 0 : i64} : (tensor<17x4xi1>) -> tensor<3x4xi8>
  %r2 = train.pack_bits %1 {dim = 0 : i64} : (tensor<17x4xi1>) -> tensor<3x4xi8>
  // CHECK: train.unpack_bits %{{.*}} {dim = 0 : i64} : (tensor<3x4xi8>) -> tensor<17x4xi1>
  %r3 = train.unpack_bits %r2 {dim = 0 : i64} : (tensor<3x4xi8>) -> tensor<17x4xi1>
  // CHECK: train.sparse_encode %{{.*}} : (tensor<2x3x8x8xf32>) -> (tensor<48xi8>, tensor<2xi64>, tensor<200xf32>)
  %r4:3 = train.sparse_encode %0 : (tensor<2x3x8x8xf32>) -> (tensor<48xi8>, tensor<2xi64>, tensor<200xf32>)
  // CHECK: train.sparse_decode %{{.*}}, %{{.*}}, %{{.*}} : (tensor<48xi8>, tensor<2xi64>, tensor<200xf32>) -> tensor<2x3x8x8xf32>
  %r5 = train.sparse_decode %r4#0, %r4#1, %r4#2 : (tensor<48xi8>, tensor<2xi64>, tensor<200xf32>) -> tensor<2x3x8x8xf32>
  return
}

// Tests softmax and the normalisations.
// CHECK-LABEL: @norms(
func.func @norms(%0: tensor<2x3x4xf32>, %1: tensor<4xf32>, %2: tensor<2x3xf32>, %3: tensor<3xf32>) {
  // CHECK: train.softmax %{{.*}} {dim = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r0 = train.softmax %0 {dim = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: train.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r1:3 = train.layer_norm %0, %1, %1 {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: train.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r2 = train.layer_norm_grad %0, %1, %2, %2, %0 {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: train.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64, unbiased} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %r3 = train.batch_norm %0, %3, %3, %3, %3 {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64, unbiased} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK: train.batch_norm_training %{{.*}}, %{{.*}}, %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %r4:3 = train.batch_norm_training %0, %3, %3 {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: train.batch_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %r5:3 = train.batch_norm_grad %0, %3, %3, %3, %0 {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// Tests cross-entropy, gather and the scatters.
// CHECK-LABEL: @losses_and_tables(
func.func @losses_and_tables(%0: tensor<6x4xf32>, %1: tensor<6xi64>, %2: tensor<6xf32>, %3: tensor<6x6xf32>) {
  // CHECK: train.softmax_cross_entropy %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : (tensor<6x4xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)
  %r0:2 = train.softmax_cross_entropy %0, %1 {ignore_index = -100 : i64} : (tensor<6x4xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)
  // CHECK: train.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x4xf32>
  %r1 = train.softmax_cross_entropy_grad %0, %1, %2, %2 {ignore_index = -100 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x4xf32>
  // CHECK: train.gather %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x6xf32>
  %r2 = train.gather %0, %1 {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x6xf32>
  // CHECK: train.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6x6xf32>) -> tensor<6x4xf32>
  %r3 = train.scatter_add %0, %1, %3 {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6x6xf32>) -> tensor<6x4xf32>
  // CHECK: train.scatter_reduce "max" %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6x6xf32>) -> tensor<6x4xf32>
  %r4 = train.scatter_reduce "max" %0, %1, %3 {dim = 1 : i64} : (tensor<6x4xf32>, tensor<6xi64>, tensor<6x6xf32>) -> tensor<6x4xf32>
  return
}

// Tests states of every kind and origin.
// CHECK: train.state @weight "parameter" : tensor<2x2xf32> {source = {file = "model.onnx.data", length = 16 : i64, offset = 0 : i64}}
train.state @weight "parameter" : tensor<2x2xf32> {source = {file = "model.onnx.data", length = 16 : i64, offset = 0 : i64}}
// CHECK: train.state @momentum "optimizer" : tensor<2x2xf32> {parameter = "weight", slot = "momentum"}
train.state @momentum "optimizer" : tensor<2x2xf32> {parameter = "weight", slot = "momentum"}
// CHECK: train.state @step "scalar" : tensor<i64> {value = dense<0> : tensor<i64>}
train.state @step "scalar" : tensor<i64> {value = dense<0> : tensor<i64>}

// Tests a program and a region that one kernel computes.
// CHECK-LABEL: func.func @step_program
// CHECK-SAME: train.state = @weight
func.func @step_program(%w: tensor<2x2xf32> {train.state = @weight}) -> (tensor<2x2xf32> {train.state = @weight}) {
  // CHECK: train.fused
  // CHECK: train.neg
  // CHECK: train.yield %{{.*}} : tensor<2x2xf32>
  %new = train.fused(%w) {shared_buffers = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%old: tensor<2x2xf32>):
    %negated = train.neg %old : (tensor<2x2xf32>) -> tensor<2x2xf32>
    train.yield %negated : tensor<2x2xf32>
  }
  return %new : tensor<2x2xf32>
}
