// RUN: zc-opt %s --verify-diagnostics --split-input-file --zc-apply-float8="exclude=^head$ divisor=16"

// Tests that a pattern names a weight of a product.
// expected-error @+1 {{'^head$' names no weight that values are multiplied by; there are w, last}}
module {
  train.state @w "parameter" : tensor<32x32xbf16>
  train.state @last "parameter" : tensor<32x16xbf16>
  func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %w: tensor<32x32xbf16> {train.state = @w},
      %last: tensor<32x16xbf16> {train.state = @last}) -> (tensor<f32> {train.metric = "loss"}) {
    %0 = train.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x32xbf16>) -> tensor<16x32xbf16>
    %1 = train.matmul %0, %last : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
    %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<16x16xbf16>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Tests that one product at least is of 8 bits.
// expected-error @+1 {{multiples of 16; as they are stay head (in front of the loss)}}
module {
  train.state @head "parameter" : tensor<32x16xbf16>
  func.func @step(%x: tensor<16x32xbf16> {train.input = "x"},
      %head: tensor<32x16xbf16> {train.state = @head}) -> (tensor<f32> {train.metric = "loss"}) {
    %1 = train.matmul %x, %head : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
    %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<16x16xbf16>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
