// Tests rounding and arc functions, with NumPy's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
    attributes {input_names = [], output_names = ["floor", "ceil", "round", "asin", "acos", "atan"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %halves = onnx.initializer @halves {value = dense<[-1.5, -0.75, 0.5, 1.5, 2.5, 2.25]> : tensor<6xf64>} : tensor<6xf64>
  %x = onnx.initializer @x {value = dense<[-0.75, 0.0, 0.5]> : tensor<3xf64>} : tensor<3xf64>
  %large = onnx.initializer @large {value = dense<[-3.0, 0.0, 2.0]> : tensor<3xf64>} : tensor<3xf64>
  %floor = onnx.node "Floor"(%halves) {since_version = 13 : i64} : (tensor<6xf64>) -> tensor<6xf64>
  // CHECK: {{^}}floor: f [6] = -2 -1 0 1 2 2{{$}}
  %ceil = onnx.node "Ceil"(%halves) {since_version = 13 : i64} : (tensor<6xf64>) -> tensor<6xf64>
  // CHECK: {{^}}ceil: f [6] = -1 0 1 2 3 3{{$}}
  // Halves go to the even neighbour.
  %round = onnx.node "Round"(%halves) {since_version = 22 : i64} : (tensor<6xf64>) -> tensor<6xf64>
  // CHECK: {{^}}round: f [6] = -2 -1 0 2 2 2{{$}}
  %asin = onnx.node "Asin"(%x) {since_version = 22 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}asin: f [3] = -0.848062{{[0-9]*}} 0 0.523598{{[0-9]*}}{{$}}
  %acos = onnx.node "Acos"(%x) {since_version = 22 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}acos: f [3] = 2.418858{{[0-9]*}} 1.570796{{[0-9]*}} 1.047197{{[0-9]*}}{{$}}
  %atan = onnx.node "Atan"(%large) {since_version = 22 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}atan: f [3] = -1.249045{{[0-9]*}} 0 1.107148{{[0-9]*}}{{$}}
  onnx.return %floor, %ceil, %round, %asin, %acos, %atan : tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
