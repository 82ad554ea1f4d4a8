// Tests activations at, around and far from their kinks, and that absent attributes have ONNX's values.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x2xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<5xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<3xi32>, tensor<7xf64>, tensor<3xi64>, tensor<3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2xf64>)
    attributes {input_names = [], output_names = ["prelu", "thresholded_relu", "thresholded_relu_default", "shrink", "shrink_default", "hard_sigmoid", "hard_sigmoid_default", "hard_swish", "elu", "celu", "selu", "selu_given", "softplus", "softsign", "mish", "swish", "swish_default", "leaky_relu", "relu_integers", "clip_attributes", "clip_integers", "clip_crossed", "hardmax", "hardmax_axis0", "hardmax_flattened", "log_softmax_flattened", "log_softmax_far"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[-2.0, 1.0], [3.0, -4.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c1 = onnx.initializer @c1 {value = dense<[0.25, 0.5]> : tensor<2xf64>} : tensor<2xf64>
  %c2 = onnx.initializer @c2 {value = dense<[-4.0, -1.0, -0.5, 0.0, 0.5, 1.0, 4.0]> : tensor<7xf64>} : tensor<7xf64>
  %c3 = onnx.initializer @c3 {value = dense<[-1.0, 0.0, 1.0, 1000.0, -1000.0]> : tensor<5xf64>} : tensor<5xf64>
  %c4 = onnx.initializer @c4 {value = dense<[-2, 0, 3]> : tensor<3xi32>} : tensor<3xi32>
  %c5 = onnx.initializer @c5 {value = dense<[-7, 0, 9]> : tensor<3xi64>} : tensor<3xi64>
  %c6 = onnx.initializer @c6 {value = dense<-2> : tensor<i64>} : tensor<i64>
  %c7 = onnx.initializer @c7 {value = dense<5> : tensor<i64>} : tensor<i64>
  %c8 = onnx.initializer @c8 {value = dense<[-7.0, 0.0, 9.0]> : tensor<3xf64>} : tensor<3xf64>
  %c9 = onnx.initializer @c9 {value = dense<2.0> : tensor<f64>} : tensor<f64>
  %c10 = onnx.initializer @c10 {value = dense<-2.0> : tensor<f64>} : tensor<f64>
  %c11 = onnx.initializer @c11 {value = dense<[[1.0, 3.0, 3.0], [2.0, -1.0, 0.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c12 = onnx.initializer @c12 {value = dense<[[1.0, 3.0, 3.0], [2.0, -1.0, 3.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c13 = onnx.initializer @c13 {value = dense<[[[1.0, 3.0], [3.0, 2.0]], [[5.0, 4.0], [6.0, 6.0]]]> : tensor<2x2x2xf64>} : tensor<2x2x2xf64>
  %c14 = onnx.initializer @c14 {value = dense<[[[0.0, 0.0], [0.0, 0.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c15 = onnx.initializer @c15 {value = dense<[[0.0, 2000.0]]> : tensor<1x2xf64>} : tensor<1x2xf64>
  %prelu = onnx.node "PRelu"(%c0, %c1) {since_version = 16 : i64}
    : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}prelu: f [2, 2] = -0.5 1 3 -2{{$}}
  %thresholded_relu = onnx.node "ThresholdedRelu"(%c2) {since_version = 22 : i64, node_attributes = {alpha = 0.5 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}thresholded_relu: f [7] = 0 0 0 0 0 1 4{{$}}
  %thresholded_relu_default = onnx.node "ThresholdedRelu"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}thresholded_relu_default: f [7] = 0 0 0 0 0 0 4{{$}}
  %shrink = onnx.node "Shrink"(%c2) {since_version = 9 : i64, node_attributes = {lambd = 0.5 : f32, bias = 0.25 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}shrink: f [7] = -3.75 -0.75 0 0 0 0.75 3.75{{$}}
  %shrink_default = onnx.node "Shrink"(%c2) {since_version = 9 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}shrink_default: f [7] = -4 -1 0 0 0 1 4{{$}}
  %hard_sigmoid = onnx.node "HardSigmoid"(%c2) {since_version = 22 : i64, node_attributes = {alpha = 0.5 : f32, beta = 0.25 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}hard_sigmoid: f [7] = 0 0 0 0.25 0.5 0.75 1{{$}}
  %hard_sigmoid_default = onnx.node "HardSigmoid"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}hard_sigmoid_default: f [7] = 0 0.3 0.4 0.5 0.6 0.7 1{{$}}
  %hard_swish = onnx.node "HardSwish"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}hard_swish: f [7] = 0 -0.3333333{{[0-9]*}} -0.2083333{{[0-9]*}} 0 0.2916666{{[0-9]*}} 0.6666666{{[0-9]*}} 4{{$}}
  %elu = onnx.node "Elu"(%c2) {since_version = 22 : i64, node_attributes = {alpha = 0.5 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}elu: f [7] = -0.4908421{{[0-9]*}} -0.3160602{{[0-9]*}} -0.1967346{{[0-9]*}} 0 0.5 1 4{{$}}
  %celu = onnx.node "Celu"(%c2) {since_version = 12 : i64, node_attributes = {alpha = 2.0 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}celu: f [7] = -1.729329{{[0-9]*}} -0.7869386{{[0-9]*}} -0.4423984{{[0-9]*}} 0 0.5 1 4{{$}}
  %selu = onnx.node "Selu"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}selu: f [7] = -1.725898{{[0-9]*}} -1.111330{{[0-9]*}} -0.6917581{{[0-9]*}} 0 0.5253505{{[0-9]*}} 1.050701{{[0-9]*}} 4.202804{{[0-9]*}}{{$}}
  %selu_given = onnx.node "Selu"(%c2) {since_version = 22 : i64, node_attributes = {alpha = 2.0 : f32, gamma = 0.5 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}selu_given: f [7] = -0.9816843{{[0-9]*}} -0.6321205{{[0-9]*}} -0.3934693{{[0-9]*}} 0 0.25 0.5 2{{$}}
  // No exponential overflows.
  %softplus = onnx.node "Softplus"(%c3) {since_version = 22 : i64}
    : (tensor<5xf64>) -> tensor<5xf64>
  // CHECK: {{^}}softplus: f [5] = 0.3132616{{[0-9]*}} 0.6931471{{[0-9]*}} 1.313261{{[0-9]*}} 1000 0{{$}}
  %softsign = onnx.node "Softsign"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}softsign: f [7] = -0.8 -0.5 -0.3333333{{[0-9]*}} 0 0.3333333{{[0-9]*}} 0.5 0.8{{$}}
  %mish = onnx.node "Mish"(%c2) {since_version = 22 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}mish: f [7] = -0.07259174{{[0-9]*}} -0.3034014{{[0-9]*}} -0.2207437{{[0-9]*}} 0 0.3752452{{[0-9]*}} 0.8650983{{[0-9]*}} 3.997412{{[0-9]*}}{{$}}
  %swish = onnx.node "Swish"(%c2) {since_version = 24 : i64, node_attributes = {alpha = 0.5 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}swish: f [7] = -0.4768116{{[0-9]*}} -0.3775406{{[0-9]*}} -0.2189117{{[0-9]*}} 0 0.2810882{{[0-9]*}} 0.6224593{{[0-9]*}} 3.523188{{[0-9]*}}{{$}}
  %swish_default = onnx.node "Swish"(%c2) {since_version = 24 : i64}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}swish_default: f [7] = -0.07194483{{[0-9]*}} -0.2689414{{[0-9]*}} -0.1887703{{[0-9]*}} 0 0.3112296{{[0-9]*}} 0.7310585{{[0-9]*}} 3.928055{{[0-9]*}}{{$}}
  %leaky_relu = onnx.node "LeakyRelu"(%c2) {since_version = 16 : i64, node_attributes = {alpha = 0.25 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}leaky_relu: f [7] = -1 -0.25 -0.125 0 0.5 1 4{{$}}
  %relu_integers = onnx.node "Relu"(%c4) {since_version = 14 : i64}
    : (tensor<3xi32>) -> tensor<3xi32>
  // CHECK: {{^}}relu_integers: i [3] = 0 0 3{{$}}
  %clip_attributes = onnx.node "Clip"(%c2) {since_version = 6 : i64, node_attributes = {min = -0.5 : f32, max = 2.0 : f32}}
    : (tensor<7xf64>) -> tensor<7xf64>
  // CHECK: {{^}}clip_attributes: f [7] = -0.5 -0.5 -0.5 0 0.5 1 2{{$}}
  %clip_integers = onnx.node "Clip"(%c5, %c6, %c7) {since_version = 13 : i64}
    : (tensor<3xi64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  // CHECK: {{^}}clip_integers: i [3] = -2 0 5{{$}}
  // Where the bounds cross, the upper one holds.
  %clip_crossed = onnx.node "Clip"(%c8, %c9, %c10) {since_version = 13 : i64}
    : (tensor<3xf64>, tensor<f64>, tensor<f64>) -> tensor<3xf64>
  // CHECK: {{^}}clip_crossed: f [3] = -2 -2 -2{{$}}
  // The first of equal elements.
  %hardmax = onnx.node "Hardmax"(%c11) {since_version = 13 : i64}
    : (tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}hardmax: f [2, 3] = 0 1 0 1 0 0{{$}}
  %hardmax_axis0 = onnx.node "Hardmax"(%c12) {since_version = 13 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x3xf64>) -> tensor<2x3xf64>
  // CHECK: {{^}}hardmax_axis0: f [2, 3] = 0 1 1 1 0 0{{$}}
  // Before opset 13 all dims from the axis on are one.
  %hardmax_flattened = onnx.node "Hardmax"(%c13) {since_version = 11 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
  // CHECK: {{^}}hardmax_flattened: f [2, 2, 2] = 0 1 0 0 0 0 1 0{{$}}
  %log_softmax_flattened = onnx.node "LogSoftmax"(%c14) {since_version = 11 : i64}
    : (tensor<1x2x2xf64>) -> tensor<1x2x2xf64>
  // CHECK: {{^}}log_softmax_flattened: f [1, 2, 2] = -1.386294{{[0-9]*}} -1.386294{{[0-9]*}} -1.386294{{[0-9]*}} -1.386294{{[0-9]*}}{{$}}
  %log_softmax_far = onnx.node "LogSoftmax"(%c15) {since_version = 13 : i64}
    : (tensor<1x2xf64>) -> tensor<1x2xf64>
  // CHECK: {{^}}log_softmax_far: f [1, 2] = -2000 0{{$}}
  onnx.return %prelu, %thresholded_relu, %thresholded_relu_default, %shrink, %shrink_default, %hard_sigmoid, %hard_sigmoid_default, %hard_swish, %elu, %celu, %selu, %selu_given, %softplus, %softsign, %mish, %swish, %swish_default, %leaky_relu, %relu_integers, %clip_attributes, %clip_integers, %clip_crossed, %hardmax, %hardmax_axis0, %hardmax_flattened, %log_softmax_flattened, %log_softmax_far : tensor<2x2xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<5xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<3xi32>, tensor<7xf64>, tensor<3xi64>, tensor<3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x2x2xf64>, tensor<1x2x2xf64>, tensor<1x2xf64>
}
