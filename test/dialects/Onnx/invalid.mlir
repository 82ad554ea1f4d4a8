// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has 1 inputs but 0 input names}}
onnx.graph @graph_c1_count(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {input_names = [], output_names = ["y"], opset_imports = {}} {
  onnx.return %x : tensor<2xf32>
}

// -----

// expected-error @below {{has two inputs named 'x'}}
onnx.graph @graph_c1_unique(%a: tensor<2xf32>, %b: tensor<2xf32>)
    attributes {input_names = ["x", "x"], output_names = [],
                opset_imports = {}} {
  onnx.return
}

// -----

// expected-error @below {{declares 1 results, names 1 and returns 0}}
onnx.graph @graph_c2_count() -> tensor<2xf32>
    attributes {input_names = [], output_names = ["y"], opset_imports = {}} {
  onnx.return
}

// -----

// expected-error @below {{declares result 0 as 'tensor<3xf32>' but returns 'tensor<2xf32>'}}
onnx.graph @graph_c2_type(%x: tensor<2xf32>) -> tensor<3xf32>
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {}} {
  onnx.return %x : tensor<2xf32>
}

// -----

// expected-error @below {{batch dim 1 of input 0 is no dim of 'tensor<2xf32>'}}
onnx.graph @graph_c3(%x: tensor<2xf32>)
    attributes {input_names = ["x"], output_names = [], opset_imports = {},
                batch_dims = array<i64: 1>} {
  onnx.return
}

// -----

// expected-error @below {{has 1 inputs but 2 batch dims}}
onnx.graph @graph_c3_count(%x: tensor<2xf32>)
    attributes {input_names = ["x"], output_names = [], opset_imports = {},
                batch_dims = array<i64: 0, 0>} {
  onnx.return
}

// -----

onnx.graph @graph_c4()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  %0 = onnx.initializer @w : tensor<2xf32>
  // expected-error @below {{is defined twice}}
  %1 = onnx.initializer @w : tensor<2xf32>
  onnx.return
}

// -----

// expected-error @below {{must end in onnx.return}}
onnx.graph @graph_terminator()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  %0 = onnx.initializer @w : tensor<2xf32>
}

// -----

onnx.graph @initializer_c1_both()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  // expected-error @below {{has both a value and a source}}
  %0 = onnx.initializer @w {value = dense<0.0> : tensor<2xf32>,
      source = #onnx.external<"f", 0, 8>} : tensor<2xf32>
  onnx.return
}

// -----

onnx.graph @initializer_c1_draw()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  // expected-error @below {{has data and draws other}}
  %0 = onnx.initializer @w {value = dense<0.0> : tensor<2xf32>,
      draw = {constant = 1.0 : f64}} : tensor<2xf32>
  onnx.return
}

// -----

onnx.graph @initializer_c1_type()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  // expected-error @below {{has a value of type 'tensor<3xf32>' but is 'tensor<2xf32>'}}
  %0 = onnx.initializer @w {value = dense<0.0> : tensor<3xf32>} : tensor<2xf32>
  onnx.return
}

// -----

onnx.graph @initializer_c1_bytes()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  // expected-error @below {{takes 2 bytes but its source has 8}}
  %0 = onnx.initializer @w {source = #onnx.external<"f", 0, 8>} : tensor<2xi1>
  onnx.return
}

// -----

onnx.graph @initializer_c2()
    attributes {input_names = [], output_names = [], opset_imports = {}} {
  // expected-error @below {{cannot be trained; only floating-point tensors can}}
  %0 = onnx.initializer @w {trained = true} : tensor<2xi64>
  onnx.return
}

// -----

onnx.graph @node_c1(%x: tensor<2xf32>)
    attributes {input_names = ["x"], output_names = [], opset_imports = {}} {
  // expected-error @below {{has the unknown attribute 'attributes'; the operator's own go into node_attributes}}
  %0 = onnx.node "Relu"(%x) {since_version = 14 : i64, attributes = {}}
      : (tensor<2xf32>) -> tensor<2xf32>
  onnx.return
}

// -----

onnx.graph @static_shapes(%x: tensor<2xf32>)
    attributes {input_names = ["x"], output_names = [], opset_imports = {}} {
  // expected-error @below {{must be variadic of statically shaped tensor}}
  %0 = onnx.node "Relu"(%x) {since_version = 14 : i64}
      : (tensor<2xf32>) -> tensor<?xf32>
  onnx.return
}
