// RUN: zc-opt %s --zc-convert-onnx-to-train=frozen-batchnorm=1 | FileCheck %s

// Tests that a frozen batch norm keeps the running statistics.
// CHECK: train.state @mean "statistic"
// CHECK: train.batch_norm %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64} :
onnx.graph @main(%i0: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %scale = onnx.initializer @scale {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32>
  %bias = onnx.initializer @bias {value = dense<0.0> : tensor<3xf32>} : tensor<3xf32>
  %mean = onnx.initializer @mean {value = dense<0.0> : tensor<3xf32>} : tensor<3xf32>
  %var = onnx.initializer @var {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32>
  %o0 = onnx.node "BatchNormalization"(%i0, %scale, %bias, %mean, %var) {since_version = 15 : i64, node_attributes = {training_mode = 1 : i64}}
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  onnx.return %o0 : tensor<2x3x4xf32>
}
