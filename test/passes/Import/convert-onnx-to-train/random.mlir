// RUN: zc-opt %s --zc-convert-onnx-to-train | FileCheck %s --check-prefixes=CHECK,ON
// RUN: zc-opt %s --zc-convert-onnx-to-train=dropout=0 | FileCheck %s --check-prefixes=CHECK,OFF

// Tests that uniform numbers compared with a probability are a dropout of it,
// also behind casts and written the other way round: 0.75 of all bits are 1.
// CHECK: %[[P:.*]] = train.constant dense<7.500000e-01> : tensor<4x1xf32>
// ON: %[[BITS:.*]] = train.dropout %[[P]] {ratio = 2.500000e-01 : f64}
// OFF: %[[BITS:.*]] = train.dropout %[[P]] {ratio = 0.000000e+00 : f64}
// CHECK: %[[MASK:.*]] = train.compare "gt"
// CHECK: %[[OTHERS:.*]] = train.dropout
// CHECK: %[[DRAWN:.*]] = train.dropout

// Tests draws of numbers: each has a key of its own.
// CHECK: train.constant dense<[[KEY:-?[0-9]+]]> : tensor<4x1xi64>
// CHECK: train.random_normal %{{.*}} {std = 2.000000e+00 : f64}
// CHECK-NOT: dense<[[KEY]]>
// CHECK: train.random_normal %{{.*}} {std = 2.000000e+00 : f64}
// CHECK: train.random_uniform %{{.*}} {bound = 5.000000e-01 : f64}
// CHECK: train.compare "lt"
// CHECK: return %[[BITS]], %[[OTHERS]], %{{.*}}, %[[DRAWN]]
onnx.graph @main(%x: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi1>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
    attributes {input_names = ["x"], output_names = ["bits", "others", "mask", "drawn", "normal", "another", "chances"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %p = onnx.initializer @p {value = dense<0.75> : tensor<f32>} : tensor<f32>
  %q = onnx.initializer @q {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %all = onnx.initializer @all {value = dense<0.75> : tensor<4x1xf32>} : tensor<4x1xf32>
  %u = onnx.node "RandomUniformLike"(%x) {since_version = 1 : i64, node_attributes = {high = 1.0 : f32, low = 0.0 : f32}} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %less = onnx.node "Less"(%u, %p) {since_version = 13 : i64} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xi1>
  %bits = onnx.node "CastLike"(%less, %x) {since_version = 15 : i64} : (tensor<4x1xi1>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %v = onnx.node "RandomUniform"() {since_version = 1 : i64, node_attributes = {shape = array<i64: 4, 1>}} : () -> tensor<4x1xf32>
  %same = onnx.node "Cast"(%v) {since_version = 13 : i64, node_attributes = {to = 1 : i64}} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %greater = onnx.node "Greater"(%same, %q) {since_version = 13 : i64} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xi1>
  %others = onnx.node "Cast"(%greater) {since_version = 13 : i64, node_attributes = {to = 1 : i64}} : (tensor<4x1xi1>) -> tensor<4x1xf32>
  %drawn = onnx.node "Bernoulli"(%all) {since_version = 22 : i64} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %normal = onnx.node "RandomNormalLike"(%x) {since_version = 22 : i64, node_attributes = {mean = 1.0 : f32, scale = 2.0 : f32}} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %another = onnx.node "RandomNormal"() {since_version = 22 : i64, node_attributes = {mean = 1.0 : f32, scale = 2.0 : f32, shape = array<i64: 4, 1>}} : () -> tensor<4x1xf32>
  %chances = onnx.node "Bernoulli"(%x) {since_version = 22 : i64} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  onnx.return %bits, %others, %less, %drawn, %normal, %another, %chances : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi1>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}
