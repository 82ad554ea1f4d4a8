// Tests Fourier transforms, with NumPy's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x5x2xf64>, tensor<1x3x2xf64>, tensor<1x5x2xf64>, tensor<1x5x2xf64>, tensor<2x3x2xf64>, tensor<1x4x2xf64>, tensor<1x7x2xf64>, tensor<1x7x1xf64>, tensor<1x6x1xf64>, tensor<1x5x2xf64>, tensor<1x3x3x2xf64>, tensor<1x3x4x2xf64>, tensor<1x3x3x2xf64>)
    attributes {input_names = [], output_names = ["real", "onesided", "complex", "inverse", "first", "shorter", "longer", "to_real", "to_even", "attribute", "frames", "frames_both", "frames_alone"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %x = onnx.initializer @x {value = dense<[[[-1.75], [-1.0], [1.25], [0.25], [-1.5], [-0.25], [-0.0], [-1.25]]]> : tensor<1x8x1xf64>} : tensor<1x8x1xf64>
  %five = onnx.initializer @five {value = dense<[[[1.0], [-1.5], [-0.5], [0.0], [-0.25]]]> : tensor<1x5x1xf64>} : tensor<1x5x1xf64>
  %cplx = onnx.initializer @cplx {value = dense<[[[0.3471943, 0.9513511], [1.825069, -0.8631953], [0.5941888, 0.784864], [-0.829117, -1.9940397], [1.8938411, -0.8063951]]]> : tensor<1x5x2xf64>} : tensor<1x5x2xf64>
  %deep = onnx.initializer @deep {value = dense<[[[-0.75], [1.5], [0.25]], [[-0.0], [1.0], [-2.0]]]> : tensor<2x3x1xf64>} : tensor<2x3x1xf64>
  %spectrum = onnx.initializer @spectrum {value = dense<[[[0.8278604, -0.5030247], [-1.6365891, 0.6420003], [1.7258554, -1.1712353], [0.5203608, -0.8073476]]]> : tensor<1x4x2xf64>} : tensor<1x4x2xf64>
  %ax1 = onnx.initializer @ax1 {value = dense<1> : tensor<i64>} : tensor<i64>
  %ax0 = onnx.initializer @ax0 {value = dense<0> : tensor<i64>} : tensor<i64>
  %n4 = onnx.initializer @n4 {value = dense<4> : tensor<i64>} : tensor<i64>
  %n7 = onnx.initializer @n7 {value = dense<7> : tensor<i64>} : tensor<i64>
  %signal = onnx.initializer @signal {value = dense<[[[1.0], [1.0], [-1.25], [1.25], [0.75], [0.75], [1.25], [-0.25]]]> : tensor<1x8x1xf64>} : tensor<1x8x1xf64>
  %step = onnx.initializer @step {value = dense<2> : tensor<i64>} : tensor<i64>
  %window = onnx.initializer @window {value = dense<[0.5, 1.0, 0.5, 0.25]> : tensor<4xf64>} : tensor<4xf64>
  %len4 = onnx.initializer @len4 {value = dense<4> : tensor<i64>} : tensor<i64>
  %none = onnx.none : none
  %real = onnx.node "DFT"(%five, %none, %ax1) {since_version = 20 : i64}
    : (tensor<1x5x1xf64>, none, tensor<i64>) -> tensor<1x5x2xf64>
  // CHECK: {{^}}real: f [1, 5, 2] = -1.25 0 0.863728{{[0-9e-]*}} 1.482713{{[0-9e-]*}} 2.261271{{[0-9e-]*}} 0.259203{{[0-9e-]*}} 2.261271{{[0-9e-]*}} -0.259203{{[0-9e-]*}} 0.863728{{[0-9e-]*}} -1.482713{{[0-9e-]*}}{{$}}
  %onesided = onnx.node "DFT"(%five, %none, %ax1) {since_version = 20 : i64, node_attributes = {onesided = 1 : i64}}
    : (tensor<1x5x1xf64>, none, tensor<i64>) -> tensor<1x3x2xf64>
  // CHECK: {{^}}onesided: f [1, 3, 2] = -1.25 0 0.863728{{[0-9e-]*}} 1.482713{{[0-9e-]*}} 2.261271{{[0-9e-]*}} 0.259203{{[0-9e-]*}}{{$}}
  %complex = onnx.node "DFT"(%cplx, %none, %ax1) {since_version = 20 : i64}
    : (tensor<1x5x2xf64>, none, tensor<i64>) -> tensor<1x5x2xf64>
  // CHECK: {{^}}complex: f [1, 5, 2] = 3.831176{{[0-9e-]*}} -1.927415{{[0-9e-]*}} 3.265840{{[0-9e-]*}} 0.642470{{[0-9e-]*}} -5.410344{{[0-9e-]*}} 3.322489{{[0-9e-]*}} -0.057783{{[0-9e-]*}} 0.534354{{[0-9e-]*}} 0.107083{{[0-9e-]*}} 2.184854{{[0-9e-]*}}{{$}}
  %inverse = onnx.node "DFT"(%cplx, %none, %ax1) {since_version = 20 : i64, node_attributes = {inverse = 1 : i64}}
    : (tensor<1x5x2xf64>, none, tensor<i64>) -> tensor<1x5x2xf64>
  // CHECK: {{^}}inverse: f [1, 5, 2] = 0.766235{{[0-9e-]*}} -0.385483{{[0-9e-]*}} 0.021416{{[0-9e-]*}} 0.436970{{[0-9e-]*}} -0.011556{{[0-9e-]*}} 0.106870{{[0-9e-]*}} -1.082068{{[0-9e-]*}} 0.664497{{[0-9e-]*}} 0.653168{{[0-9e-]*}} 0.128494{{[0-9e-]*}}{{$}}
  %first = onnx.node "DFT"(%deep, %none, %ax0) {since_version = 20 : i64}
    : (tensor<2x3x1xf64>, none, tensor<i64>) -> tensor<2x3x2xf64>
  // CHECK: {{^}}first: f [2, 3, 2] = -0.75 0 2.5 0 -1.75 0 -0.75 0 0.5 0 2.25 0{{$}}
  %shorter = onnx.node "DFT"(%x, %n4, %ax1) {since_version = 20 : i64}
    : (tensor<1x8x1xf64>, tensor<i64>, tensor<i64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}shorter: f [1, 4, 2] = -1.25 0 -3 1.25 0.25 0 -3 -1.25{{$}}
  %longer = onnx.node "DFT"(%five, %n7) {since_version = 20 : i64}
    : (tensor<1x5x1xf64>, tensor<i64>) -> tensor<1x7x2xf64>
  // CHECK: {{^}}longer: f [1, 7, 2] = -1.25 0 0.401267{{[0-9e-]*}} 1.551740{{[0-9e-]*}} 1.628393{{[0-9e-]*}} 1.440907{{[0-9e-]*}} 2.095338{{[0-9e-]*}} 0.016177{{[0-9e-]*}} 2.095338{{[0-9e-]*}} -0.016177{{[0-9e-]*}} 1.628393{{[0-9e-]*}} -1.440907{{[0-9e-]*}} 0.401267{{[0-9e-]*}} -1.551740{{[0-9e-]*}}{{$}}
  %to_real = onnx.node "DFT"(%spectrum, %n7, %ax1) {since_version = 20 : i64, node_attributes = {inverse = 1 : i64, onesided = 1 : i64}}
    : (tensor<1x4x2xf64>, tensor<i64>, tensor<i64>) -> tensor<1x7x1xf64>
  // CHECK: {{^}}to_real: f [1, 7, 1] = 0.292444{{[0-9e-]*}} -0.134030{{[0-9e-]*}} -0.633625{{[0-9e-]*}} 0.697586{{[0-9e-]*}} 0.930247{{[0-9e-]*}} 0.375113{{[0-9e-]*}} -0.699875{{[0-9e-]*}}{{$}}
  %to_even = onnx.node "DFT"(%spectrum, %none, %ax1) {since_version = 20 : i64, node_attributes = {inverse = 1 : i64, onesided = 1 : i64}}
    : (tensor<1x4x2xf64>, none, tensor<i64>) -> tensor<1x6x1xf64>
  // CHECK: {{^}}to_even: f [1, 6, 1] = 0.254458{{[0-9e-]*}} -0.356380{{[0-9e-]*}} -0.313610{{[0-9e-]*}} 1.172064{{[0-9e-]*}} 0.733261{{[0-9e-]*}} -0.661934{{[0-9e-]*}}{{$}}
  %attribute = onnx.node "DFT"(%five) {since_version = 17 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<1x5x1xf64>) -> tensor<1x5x2xf64>
  // CHECK: {{^}}attribute: f [1, 5, 2] = -1.25 0 0.863728{{[0-9e-]*}} 1.482713{{[0-9e-]*}} 2.261271{{[0-9e-]*}} 0.259203{{[0-9e-]*}} 2.261271{{[0-9e-]*}} -0.259203{{[0-9e-]*}} 0.863728{{[0-9e-]*}} -1.482713{{[0-9e-]*}}{{$}}
  %frames = onnx.node "STFT"(%signal, %step, %window, %len4) {since_version = 17 : i64}
    : (tensor<1x8x1xf64>, tensor<i64>, tensor<4xf64>, tensor<i64>) -> tensor<1x3x3x2xf64>
  // CHECK: {{^}}frames: f [1, 3, 3, 2] = 1.1875 0 1.125 -0.6875 -1.4375 0 1.1875 0 -1 -1.0625 -1.6875 0 1.6875 0 -0.25 -0.8125 0.3125 0{{$}}
  %frames_both = onnx.node "STFT"(%signal, %step, %window) {since_version = 17 : i64, node_attributes = {onesided = 0 : i64}}
    : (tensor<1x8x1xf64>, tensor<i64>, tensor<4xf64>) -> tensor<1x3x4x2xf64>
  // CHECK: {{^}}frames_both: f [1, 3, 4, 2] = 1.1875 0 1.125 -0.6875 -1.4375 0 1.125 0.6875 1.1875 0 -1 -1.0625 -1.6875 0 -1 1.0625 1.6875 0 -0.25 -0.8125 0.3125 0 -0.25 0.8125{{$}}
  %frames_alone = onnx.node "STFT"(%signal, %step, %none, %len4) {since_version = 17 : i64}
    : (tensor<1x8x1xf64>, tensor<i64>, none, tensor<i64>) -> tensor<1x3x3x2xf64>
  // CHECK: {{^}}frames_alone: f [1, 3, 3, 2] = 2 0 2.25 0.25 -2.5 0 1.5 0 -2 -0.5 -2.5 0 2.5 0 -0.5 -1 1.5 0{{$}}
  onnx.return %real, %onesided, %complex, %inverse, %first, %shorter, %longer, %to_real, %to_even, %attribute, %frames, %frames_both, %frames_alone : tensor<1x5x2xf64>, tensor<1x3x2xf64>, tensor<1x5x2xf64>, tensor<1x5x2xf64>, tensor<2x3x2xf64>, tensor<1x4x2xf64>, tensor<1x7x2xf64>, tensor<1x7x1xf64>, tensor<1x6x1xf64>, tensor<1x5x2xf64>, tensor<1x3x3x2xf64>, tensor<1x3x4x2xf64>, tensor<1x3x3x2xf64>
}
