// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// Tests that inputs, outputs, batch dims and states are bound by name, states
// first, in the model's order.
// CHECK: train.state @fc.weight "parameter" : tensor<4x3xf32> {source = {file = "m.data", length = 48 : i64, offset = 64 : i64}}
// CHECK: train.state @fc.bias "parameter" : tensor<4xf32> {aliases = ["tied"], value = dense<0.000000e+00> : tensor<4xf32>}
// CHECK: func.func @forward(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x3xf32> {train.state = @fc.weight},
// CHECK-SAME: %[[B:[^:]*]]: tensor<4xf32> {train.state = @fc.bias},
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32> {train.batch_dim = 0 : i64, train.input = "x"},
// CHECK-SAME: tensor<5xf32> {train.input = "extra"})
// CHECK-SAME: -> (tensor<2x4xf32> {train.batch_dim = 0 : i64, train.output = "logits"})
onnx.graph @main(%x: tensor<2x3xf32>, %extra: tensor<5xf32>) -> (tensor<2x4xf32>)
    attributes {input_names = ["x", "extra"], output_names = ["logits"],
                batch_dims = array<i64: 0, -1>, output_batch_dims = array<i64: 0>,
                opset_imports = {"ai.onnx" = 20 : i64}} {
  %w = onnx.initializer @"fc.weight" {trained = true, source = #onnx.external<"m.data", 64, 48>} : tensor<4x3xf32>
  %b = onnx.initializer @"fc.bias" {trained = true, aliases = ["tied"], value = dense<0.0> : tensor<4xf32>} : tensor<4xf32>
  // CHECK: %[[XW:.*]] = train.matmul %[[X]], %[[W]] {transpose_rhs}
  // CHECK: %[[BB:.*]] = train.broadcast %[[B]] {dims = array<i64: 1>}
  // CHECK: %[[Y:.*]] = train.add %[[XW]], %[[BB]]
  // CHECK: return %[[Y]]
  %y = onnx.node "Gemm"(%x, %w, %b) {since_version = 13 : i64, node_attributes = {transB = 1 : i64}}
    : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.return %y : tensor<2x4xf32>
}

// -----

// Tests that small untrained constants stay in the code, larger ones are states,
// statistics are states of their own kind, and what nothing needs vanishes.
// CHECK-NOT: @unused
// CHECK-NOT: @axes
// CHECK: train.state @rope "constant" : tensor<20xf32>
// CHECK: train.state @mean "statistic" : tensor<2xf32>
// CHECK: train.state @var "statistic" : tensor<2xf32>
// CHECK-NOT: train.state
// CHECK: func.func @forward
onnx.graph @main(%x: tensor<1x2x20xf32>) -> (tensor<1x2x20xf32>, tensor<1x20xf32>)
    attributes {input_names = ["x"], output_names = ["y", "z"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %unused = onnx.initializer @unused {trained = true} : tensor<30xf32>
  %axes = onnx.initializer @axes {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %rope = onnx.initializer @rope {source = #onnx.external<"m.data", 0, 80>} : tensor<20xf32>
  %two = onnx.initializer @two {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %mean = onnx.initializer @mean {value = dense<0.0> : tensor<2xf32>} : tensor<2xf32>
  %var = onnx.initializer @var {value = dense<1.0> : tensor<2xf32>} : tensor<2xf32>
  // CHECK: train.constant dense<[1.000000e+00, 2.000000e+00]>
  // CHECK: train.batch_norm
  %0 = onnx.node "BatchNormalization"(%x, %two, %two, %mean, %var) {since_version = 15 : i64}
    : (tensor<1x2x20xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x20xf32>
  %1 = onnx.node "Add"(%0, %rope) {since_version = 14 : i64} : (tensor<1x2x20xf32>, tensor<20xf32>) -> tensor<1x2x20xf32>
  %2 = onnx.node "ReduceSum"(%1, %axes) {since_version = 13 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<1x2x20xf32>, tensor<1xi64>) -> tensor<1x20xf32>
  onnx.return %1, %2 : tensor<1x2x20xf32>, tensor<1x20xf32>
}

// -----

// Tests that a folded constant is stored once along dims where it does not vary,
// and once for all nodes that have an equal one.
// CHECK: train.state @mask0 "constant" : tensor<1x5x5xf32>
// CHECK-NOT: train.state
// CHECK: func.func @forward(%[[MASK:[^:]*]]: tensor<1x5x5xf32> {train.state = @mask0}
// CHECK-COUNT-2: train.broadcast %[[MASK]] {dims = array<i64: 0, 1, 2>} : (tensor<1x5x5xf32>) -> tensor<2x5x5xf32>
onnx.graph @main(%x: tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %mask0 = onnx.initializer @mask0 {folded, value = dense<[[[0.,1.,1.,1.,1.],[0.,0.,1.,1.,1.],[0.,0.,0.,1.,1.],[0.,0.,0.,0.,1.],[0.,0.,0.,0.,0.]],[[0.,1.,1.,1.,1.],[0.,0.,1.,1.,1.],[0.,0.,0.,1.,1.],[0.,0.,0.,0.,1.],[0.,0.,0.,0.,0.]]]> : tensor<2x5x5xf32>} : tensor<2x5x5xf32>
  %mask1 = onnx.initializer @mask1 {folded, value = dense<[[[0.,1.,1.,1.,1.],[0.,0.,1.,1.,1.],[0.,0.,0.,1.,1.],[0.,0.,0.,0.,1.],[0.,0.,0.,0.,0.]],[[0.,1.,1.,1.,1.],[0.,0.,1.,1.,1.],[0.,0.,0.,1.,1.],[0.,0.,0.,0.,1.],[0.,0.,0.,0.,0.]]]> : tensor<2x5x5xf32>} : tensor<2x5x5xf32>
  %0 = onnx.node "Add"(%x, %mask0) {since_version = 14 : i64} : (tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %1 = onnx.node "Mul"(%0, %mask1) {since_version = 14 : i64} : (tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  onnx.return %1 : tensor<2x5x5xf32>
}

// -----

// Tests that an input that indexes tables gets the range that all of them have.
// CHECK: func.func @forward
// CHECK-SAME: tensor<4xi32> {train.input = "ids", train.range = array<i64: -10, 10>}
onnx.graph @main(%ids: tensor<4xi32>) -> (tensor<4x3xf32>, tensor<4x2xf32>)
    attributes {input_names = ["ids"], output_names = ["a", "b"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %t = onnx.initializer @t {trained = true} : tensor<10x3xf32>
  %u = onnx.initializer @u {trained = true} : tensor<12x2xf32>
  %wide = onnx.node "Cast"(%ids) {since_version = 19 : i64, node_attributes = {to = 7 : i64}} : (tensor<4xi32>) -> tensor<4xi64>
  %0 = onnx.node "Gather"(%t, %wide) {since_version = 13 : i64} : (tensor<10x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %1 = onnx.node "Gather"(%u, %ids) {since_version = 13 : i64} : (tensor<12x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  onnx.return %0, %1 : tensor<4x3xf32>, tensor<4x2xf32>
}

// -----

// Tests that every op has its node's location.
// LOC-DAG: train.relu {{.*}} loc(#[[NODE:.*]])
// LOC-DAG: #[[NODE]] = loc("act"(
onnx.graph @main(%x: tensor<2xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %0 = onnx.node "Relu"(%x) {since_version = 14 : i64} : (tensor<2xf32>) -> tensor<2xf32> loc("act"("net.act"("Relu"("m.onnx":0:0))))
  onnx.return %0 : tensor<2xf32>
}
