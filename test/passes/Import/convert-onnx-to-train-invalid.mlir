// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file --verify-diagnostics

// Tests that all operators without a lowering are named at once.
onnx.graph @main(%x: tensor<2xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+2 {{node (Frobnicate): unsupported operators: Frobnicate, Relu}}
  // expected-note @+1 {{no lowering for 'Frobnicate' of com.example, version 1}}
  %0 = onnx.node "Frobnicate"(%x) {domain = "com.example", since_version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-note @+1 {{no lowering for 'Relu' of ONNX's own domain, version 99}}
  %1 = onnx.node "Relu"(%0) {since_version = 99 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.return %1 : tensor<2xf32>
}

// -----

// Tests that nodes behind a failed one are silent, and others are not.
onnx.graph @main(%x: tensor<2x3xf32>, %i: tensor<2xi64>, %axes: tensor<1xi64>) -> (tensor<2xf32>, tensor<2xi64>)
    attributes {input_names = ["x", "i", "axes"], output_names = ["y", "z"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+1 {{node (ReduceSum): expected input 1 ('axes') to be a constant, found a value computed at run time}}
  %0 = onnx.node "ReduceSum"(%x, %axes) {since_version = 13 : i64, node_attributes = {keepdims = 0 : i64}} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2xf32>
  %1 = onnx.node "Relu"(%0) {since_version = 14 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{node (Sqrt): expected input 0 to be a floating-point tensor, found 'tensor<2xi64>'}}
  %2 = onnx.node "Sqrt"(%i) {since_version = 13 : i64} : (tensor<2xi64>) -> tensor<2xi64>
  onnx.return %1, %2 : tensor<2xf32>, tensor<2xi64>
}

// -----

// Tests that a model whose own shapes disagree is refused.
onnx.graph @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+1 {{node (Transpose): its operands and attributes make output 0 a 'tensor<3x2xf32>', but the model says 'tensor<2x3xf32>'}}
  %0 = onnx.node "Transpose"(%x) {since_version = 21 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.return %0 : tensor<2x3xf32>
}

// -----

// Tests element types that zc does not compute with.
onnx.graph @main(%x: tensor<2xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+1 {{node (Cast): uses a 'tensor<2xf8E5M2>'; zc computes with f64, f32, f16, bf16, integers and bool}}
  %0 = onnx.node "Cast"(%x) {since_version = 21 : i64} : (tensor<2xf32>) -> tensor<2xf8E5M2>
  %1 = onnx.node "Cast"(%0) {since_version = 21 : i64} : (tensor<2xf8E5M2>) -> tensor<2xf32>
  onnx.return %1 : tensor<2xf32>
}

// -----

// Tests an initializer that would clash with a program.
onnx.graph @main(%x: tensor<2xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+1 {{has a name that zc keeps for its programs, 'step'; rename it}}
  %w = onnx.initializer @step {trained = true} : tensor<2xf32>
  %0 = onnx.node "Add"(%x, %w) {since_version = 14 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.return %0 : tensor<2xf32>
}

// -----

// Tests operands that do not fit together.
onnx.graph @main(%x: tensor<2x3xf32>, %i: tensor<4x4xf32>, %n: tensor<1x4x5xf32>, %k: tensor<3x3x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>, tensor<1x3x3xf32>)
    attributes {input_names = ["x", "i", "n", "k"], output_names = ["a", "b", "c"], opset_imports = {"ai.onnx" = 20 : i64}} {
  // expected-error @+1 {{node (MatMul): cannot multiply 'tensor<2x3xf32>' and 'tensor<4x4xf32>'}}
  %0 = onnx.node "MatMul"(%x, %i) {since_version = 13 : i64} : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (Softmax): axis 2 is no dim of a tensor of 2 dims}}
  %1 = onnx.node "Softmax"(%x) {since_version = 13 : i64, node_attributes = {axis = 2 : i64}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (Conv): cannot convolve 4 channels with a 'tensor<3x3x3xf32>' in 1 groups}}
  %2 = onnx.node "Conv"(%n, %k) {since_version = 22 : i64} : (tensor<1x4x5xf32>, tensor<3x3x3xf32>) -> tensor<1x3x3xf32>
  onnx.return %0, %1, %2 : tensor<2x4xf32>, tensor<2x3xf32>, tensor<1x3x3xf32>
}

// -----

// Tests that dropout drops a share of the elements, never all.
onnx.graph @main(%x: tensor<2xf32>) -> (tensor<2xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %training = onnx.initializer @training {value = dense<true> : tensor<i1>} : tensor<i1>
  // expected-error @+1 {{node (Dropout): expected a ratio of at least 0 and below 1, found 1}}
  %0 = onnx.node "Dropout"(%x, %ratio, %training) {since_version = 13 : i64} : (tensor<2xf32>, tensor<f32>, tensor<i1>) -> tensor<2xf32>
  onnx.return %0 : tensor<2xf32>
}

// -----

// Tests an index outside its table, and window lists.
onnx.graph @main(%x: tensor<1x1x4xf32>) -> (tensor<1x1xf32>, tensor<1x1x3xf32>)
    attributes {input_names = ["x"], output_names = ["a", "c"], opset_imports = {"ai.onnx" = 20 : i64}} {
  %at = onnx.initializer @at {value = dense<4> : tensor<i64>} : tensor<i64>
  // expected-error @+1 {{node (Gather): index 4 is outside dim 2 of 'tensor<1x1x4xf32>'}}
  %0 = onnx.node "Gather"(%x, %at) {since_version = 13 : i64, node_attributes = {axis = 2 : i64}} : (tensor<1x1x4xf32>, tensor<i64>) -> tensor<1x1xf32>
  // expected-error @+1 {{node (AveragePool): expected kernel_shape to have 1 entries, found 2}}
  %2 = onnx.node "AveragePool"(%x) {since_version = 19 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>}} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
  onnx.return %0, %2 : tensor<1x1xf32>, tensor<1x1x3xf32>
}

// -----

// Tests that an activation that zc lacks is named.
onnx.graph @main(%x: tensor<2x2x5xf32>) -> (tensor<1x2x4xf32>)
    attributes {input_names = ["x"], output_names = ["h"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %w = onnx.initializer @w {value = dense<1.0> : tensor<1x4x5xf32>} : tensor<1x4x5xf32>
  %r = onnx.initializer @r {value = dense<1.0> : tensor<1x4x4xf32>} : tensor<1x4x4xf32>
  // expected-error @+1 {{node (RNN): expected activations of ONNX's recurrent operators, such as Sigmoid or Elu, found 'Bent'}}
  %y, %h = onnx.node "RNN"(%x, %w, %r) {since_version = 22 : i64, node_attributes = {hidden_size = 4 : i64, activations = ["Bent"]}}
    : (tensor<2x2x5xf32>, tensor<1x4x5xf32>, tensor<1x4x4xf32>) -> (tensor<2x1x2x4xf32>, tensor<1x2x4xf32>)
  onnx.return %h : tensor<1x2x4xf32>
}

// -----

// Tests initial states of another width, as PyTorch writes an LSTM with
// projections.
onnx.graph @main(%x: tensor<2x2x5xf32>, %h: tensor<1x2x4xf32>, %c: tensor<1x2x8xf32>) -> (tensor<2x1x2x4xf32>)
    attributes {input_names = ["x", "h", "c"], output_names = ["y"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %none = onnx.none : none
  %w = onnx.initializer @w {value = dense<1.0> : tensor<1x16x5xf32>} : tensor<1x16x5xf32>
  %r = onnx.initializer @r {value = dense<1.0> : tensor<1x16x4xf32>} : tensor<1x16x4xf32>
  // expected-error @+1 {{node (LSTM): initial_c is a 'tensor<1x2x8xf32>', expected a 'tensor<1x2x4xf32>'; PyTorch's exporter writes so}}
  %y = onnx.node "LSTM"(%x, %w, %r, %none, %none, %h, %c) {since_version = 22 : i64, node_attributes = {hidden_size = 4 : i64}}
    : (tensor<2x2x5xf32>, tensor<1x16x5xf32>, tensor<1x16x4xf32>, none, none, tensor<1x2x4xf32>, tensor<1x2x8xf32>) -> tensor<2x1x2x4xf32>
  onnx.return %y : tensor<2x1x2x4xf32>
}

// -----

// Tests that a scatter that combines in another way is refused.
onnx.graph @main(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> (tensor<4xf32>)
    attributes {input_names = ["x", "i", "u"], output_names = ["y"], opset_imports = {"ai.onnx" = 22 : i64}} {
  // expected-error @+1 {{node (ScatterElements): expected a reduction of none, add, mul, max or min, found 'mean'}}
  %y = onnx.node "ScatterElements"(%x, %i, %u) {since_version = 18 : i64, node_attributes = {reduction = "mean"}}
    : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  onnx.return %y : tensor<4xf32>
}
