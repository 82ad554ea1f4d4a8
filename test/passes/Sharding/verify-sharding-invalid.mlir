// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-verify-sharding

// Tests that a sum is not taken for whole.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @whole(%x: tensor<8xf32> {dist.sharding = #dist.sharding<dp>}) -> tensor<f32> {
    // expected-error @+1 {{over 'dp': result 0 is a term, but is taken for whole}}
    %0 = train.reduce "sum" %x {dims = array<i64: 0>, dist.operands = [#dist.sharding<dp>], dist.results = [#dist.sharding<>]} : (tensor<8xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @returned(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}) -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
    // expected-error @+1 {{operand 0 is #dist.sharding<unreduced dp>, but expected as #dist.sharding<>}}
    return %x : tensor<f32>
  }
}

// -----

// Tests that no term passes an op that is not linear.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @root(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}) {
    // expected-error @+1 {{over 'dp': operand 0 is unreduced, but the op is not linear in it}}
    %0 = train.sqrt %x {dist.operands = [#dist.sharding<unreduced dp>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// Tests that no term is rounded before it is added to the others.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @cast(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}) {
    // expected-error @+1 {{over 'dp': operand 0 is unreduced, but the op is not linear in it}}
    %0 = train.convert %x {dist.operands = [#dist.sharding<unreduced dp>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>) -> tensor<bf16>
    return
  }
}

// -----

// Tests that what every rank has whole is not added to a term.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @bias(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}, %b: tensor<f32>) {
    // expected-error @+1 {{over 'dp': adds an operand that is whole to terms}}
    %0 = train.add %x, %b {dist.operands = [#dist.sharding<unreduced dp>, #dist.sharding<>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @square(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp>}) {
    // expected-error @+1 {{over 'dp': multiplies two unreduced operands}}
    %0 = train.mul %x, %x {dist.operands = [#dist.sharding<unreduced dp>, #dist.sharding<unreduced dp>], dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @factor(%x: tensor<8xf32> {dist.sharding = #dist.sharding<dp>}, %y: tensor<8xf32>) {
    // expected-error @+1 {{operand 1 dim 0 is divided unlike another dim of its factor}}
    %0 = train.add %x, %y {dist.operands = [#dist.sharding<dp>, #dist.sharding<_>], dist.results = [#dist.sharding<dp>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @softmax(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<_,dp>}) {
    // expected-error @+1 {{operand 0 dim 1 must be whole but is divided}}
    %0 = train.softmax %x {dim = 1 : i64, dist.operands = [#dist.sharding<_,dp>], dist.results = [#dist.sharding<_,dp>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @twice(%x: tensor<8xf32>) {
    // expected-error @+1 {{the operand is not unreduced over 'dp'}}
    %0 = dist.all_reduce %x {axes = ["dp"], traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
}

// -----

// Tests that rows of terms are divided among those whose terms they are.
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @terms(%x: tensor<8xf32> {dist.sharding = #dist.sharding<dp>}) {
    // expected-error @+1 {{the operand is divided over 'dp'}}
    %0 = dist.terms %x {axes = ["dp"], dist.results = [#dist.sharding<dp,_>]} : (tensor<8xf32>) -> tensor<2x8xf32>
    return
  }
}
