// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that ceil_mode pads until the last window is whole.
// CHECK: train.max_pool %{{.*}} {dilations = array<i64: 1>, pads_high = array<i64: 1>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x1x5xf32>) -> tensor<1x1x3xf32>
onnx.graph @main(%i0: tensor<1x1x5xf32>) -> (tensor<1x1x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "MaxPool"(%i0) {since_version = 12 : i64, node_attributes = {ceil_mode = 1 : i64, kernel_shape = array<i64: 2>, strides = array<i64: 2>}}
    : (tensor<1x1x5xf32>) -> tensor<1x1x3xf32>
  onnx.return %o0 : tensor<1x1x3xf32>
}

// -----

// Tests that windows on the image alone are averages of what lies on it.
// CHECK: train.average_pool %{{.*}} {pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
onnx.graph @main(%i0: tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 2>}}
    : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  onnx.return %o0 : tensor<1x1x2xf32>
}

// -----

// Tests that padding is not counted where it should not be.
// CHECK: train.average_pool %{{.*}} {pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 1>, window = array<i64: 3>} : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
onnx.graph @main(%i0: tensor<1x1x3xf32>) -> (tensor<1x1x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>}}
    : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  onnx.return %o0 : tensor<1x1x3xf32>
}

// -----

// Tests that it is where it should, and that a ceil_mode's last window does not count what hangs over.
// CHECK: train.average_pool %{{.*}} {count_include_pad, pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 1>, window = array<i64: 3>} : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK: train.average_pool %{{.*}} {pads_high = array<i64: 1>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
onnx.graph @main(%i0: tensor<1x1x3xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x2xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {count_include_pad = 1 : i64, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>}}
    : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %o1 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {ceil_mode = 1 : i64, kernel_shape = array<i64: 2>, strides = array<i64: 2>}}
    : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  onnx.return %o0, %o1 : tensor<1x1x3xf32>, tensor<1x1x2xf32>
}

// -----

// Tests that a window as large as the image is a mean, and what windows do not reach is cut off.
// CHECK: %[[SUM:.*]] = train.reduce "sum" %{{.*}} {dims = array<i64: 2, 3>}
// CHECK: train.reshape %[[SUM]] : {{.*}} -> tensor<2x3x1x1xf32>
// CHECK: train.average_pool %{{.*}} {pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 3, 3>, window = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
onnx.graph @main(%i0: tensor<2x3x4x4xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 4, 4>}}
    : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  %o1 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 3, 3>}}
    : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  onnx.return %o0, %o1 : tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>
}

// -----

// Tests that gaps between a window's elements make slices, as do pads that count beside what hangs over.
// CHECK: train.pad %{{.*}} -> tensor<1x1x5xf32>
// CHECK-COUNT-2: train.slice
// CHECK: %[[COUNTS:.*]] = train.constant dense<[1.000000e+00, 2.000000e+00, 1.000000e+00]>
// CHECK: train.broadcast %[[COUNTS]] {dims = array<i64: 2>}
// CHECK: train.div
// CHECK-COUNT-3: train.slice
// CHECK: train.constant dense<[3.000000e+00, 2.000000e+00]>
onnx.graph @main(%i0: tensor<1x1x3xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x2xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {dilations = array<i64: 2>, kernel_shape = array<i64: 2>, pads = array<i64: 1, 1>}}
    : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %o1 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {ceil_mode = 1 : i64, count_include_pad = 1 : i64, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 3>}}
    : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  onnx.return %o0, %o1 : tensor<1x1x3xf32>, tensor<1x1x2xf32>
}

// -----

// Tests that a window that no elements fill is as wide as the result asks for, and an average of nothing is 0.
// CHECK: train.average_pool %{{.*}} {pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 3>, window = array<i64: 4>} : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
// CHECK-COUNT-2: train.slice
// CHECK-NEXT: train.add
// CHECK-NEXT: return
onnx.graph @main(%i0: tensor<1x1x2xf32>, %i1: tensor<1x1x1xf32>) -> (tensor<1x1x1xf32>, tensor<1x1x2xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "AveragePool"(%i0) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 4>, pads = array<i64: 1, 0>, strides = array<i64: 3>}}
    : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  %o1 = onnx.node "AveragePool"(%i1) {since_version = 19 : i64, node_attributes = {ceil_mode = 1 : i64, dilations = array<i64: 2>, kernel_shape = array<i64: 2>, pads = array<i64: 1, 1>, strides = array<i64: 2>}}
    : (tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  onnx.return %o0, %o1 : tensor<1x1x1xf32>, tensor<1x1x2xf32>
}

// -----

// Tests that global pools reduce all spatial dims and keep them.
// CHECK: train.reduce "sum" %{{.*}} {dims = array<i64: 2, 3>}
// CHECK: train.reshape %{{.*}} -> tensor<2x3x1x1xf32>
// CHECK: train.div
// CHECK: train.reduce "max" %{{.*}} {dims = array<i64: 2, 3>}
onnx.graph @main(%i0: tensor<2x3x4x4xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "GlobalAveragePool"(%i0) {since_version = 22 : i64}
    : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  %o1 = onnx.node "GlobalMaxPool"(%i0) {since_version = 22 : i64}
    : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  onnx.return %o0, %o1 : tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>
}
