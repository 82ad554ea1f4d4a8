// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests extremes of too few elements, and places that do not fit an image.
onnx.graph @main(%x: tensor<4xf32>, %image: tensor<2x3x4x5xf32>, %grid: tensor<2x2x2x2xf32>, %volume: tensor<2x2x2x3xf32>) -> (tensor<5xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>)
    attributes {input_names = ["x", "image", "grid", "volume"], output_names = ["o0", "o1", "o2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %k = onnx.initializer @k {value = dense<5> : tensor<1xi64>} : tensor<1xi64>
  // expected-error @+1 {{takes the 5 extremes of 4; zc takes 1 to 64, or any number of up to 4096}}
  %0:2 = onnx.node "TopK"(%x, %k) {since_version = 11 : i64} : (tensor<4xf32>, tensor<1xi64>) -> (tensor<5xf32>, tensor<5xi64>)
  // expected-error @+1 {{expected mode linear, nearest or cubic, found 'area'}}
  %1 = onnx.node "GridSample"(%image, %grid) {since_version = 20 : i64, node_attributes = {mode = "area"}} : (tensor<2x3x4x5xf32>, tensor<2x2x2x2xf32>) -> tensor<2x3x2x2xf32>
  // expected-error @+1 {{cannot sample 'tensor<2x3x4x5xf32>' at the places of 'tensor<2x2x2x3xf32>'}}
  %2 = onnx.node "GridSample"(%image, %volume) {since_version = 20 : i64} : (tensor<2x3x4x5xf32>, tensor<2x2x2x3xf32>) -> tensor<2x3x2x2xf32>
  onnx.return %0#0, %1, %2 : tensor<5xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>
}
