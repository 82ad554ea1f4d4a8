// RUN: not zc-opt %s --zc-convert-onnx-to-train 2>&1 | FileCheck %s

// Tests that a node is named with its file, operator and module.
// CHECK: error: m.onnx: node 'sum' (Add) in net.head: cannot broadcast 'tensor<2xf32>' and 'tensor<3xf32>' to one shape
onnx.graph @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x", "y"], output_names = ["z"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %0 = onnx.node "Add"(%x, %y) {since_version = 14 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32> loc("sum"("net.head"("Add"("m.onnx":0:0))))
  onnx.return %0 : tensor<2xf32>
}
