// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-build-loss="loss=none accumulate=4"

// Tests a batch that does not divide.
// expected-error @+1 {{the batch of 6 samples does not divide into 4 micro-batches; the next sizes that do are 4 and 8}}
func.func @forward(%x: tensor<6xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Tests what is no sum over samples.
func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  // expected-error @+1 {{'train.exp' cannot be computed for a part of the samples: it is not linear in a sum over all samples}}
  %1 = train.exp %0 : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64},
                   %s: tensor<f32> {train.input = "s"})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  // expected-error @+1 {{it combines a sum over all samples with another value}}
  %1 = train.add %0, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{it compares all of them}}
  %0 = train.reduce "max" %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @forward(%x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{it needs all of them at once}}
  %0 = train.softmax %x {dim = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests a weight for each sample.
train.state @w "parameter" : tensor<8xf32>
// expected-error @+1 {{'w' holds values for each of the 8 samples of the batch}}
func.func @forward(%w: tensor<8xf32> {train.state = @w},
                   %x: tensor<8xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.mul %x, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests samples that come in groups, of which there are fewer than parts.
func.func @forward(%x: tensor<8x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{it brings 4 samples together in a ''tensor<2x4x2xf32>'', and 2 such groups do not divide into 4 micro-batches}}
  %0 = train.reshape %x : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0, 1, 2>} : (tensor<2x4x2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests a dim in which no group of samples is consecutive.
func.func @forward(%x: tensor<8x3xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{'tensor<3x8xf32>'' has no dim that counts samples}}
  %0 = train.reshape %x : (tensor<8x3xf32>) -> tensor<3x8xf32>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0, 1>} : (tensor<3x8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Tests a value with an element for each pair of samples.
func.func @forward(%x: tensor<8x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x2xf32>) -> tensor<2x8xf32>
  // expected-error @+1 {{it brings samples together in a ''tensor<8x8xf32>''}}
  %1 = train.matmul %x, %0 : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Tests a constant that a reshape leads to backwards.
func.func @forward(%x: tensor<8x2xf32> {train.input = "x", train.batch_dim = 0 : i64})
    -> (tensor<f32> {train.output = "y"}) {
  // expected-error @+1 {{it needs all of them at once}}
  %c = train.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  %0 = train.reshape %c : (tensor<16xf32>) -> tensor<8x2xf32>
  %1 = train.mul %x, %0 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
