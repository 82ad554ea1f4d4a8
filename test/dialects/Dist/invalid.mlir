// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{names the axis 'dp' twice}}
module attributes {dist.mesh = #dist.mesh<dp=4,dp=2>} {}

// -----

// expected-error @+1 {{axis 'dp' has the size 0; expected at least 1}}
module attributes {dist.mesh = #dist.mesh<dp=0>} {}

// -----

module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @axis(%x: tensor<4xf32>) {
    // expected-error @+1 {{goes along 'tp', which is no axis of #dist.mesh<dp=2>}}
    %0 = dist.all_reduce %x {axes = ["tp"], traffic = "scalars"} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

func.func @traffic(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'traffic' failed to satisfy constraint: a kind of traffic, which is gradients, parameters, activations, statistics, scalars}}
  %0 = dist.all_reduce %x {axes = ["dp"], traffic = "letters"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @none(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no axes}}
  %0 = dist.all_reduce %x {axes = [], traffic = "scalars"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dim(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no dim 1: 'tensor<4xf32>'}}
  %0 = dist.all_gather %x {axes = ["dp"], dim = 1 : i64, traffic = "scalars"} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @size(%x: tensor<4xf32>) {
  // expected-error @+1 {{makes 'tensor<3xf32>' of 'tensor<4xf32>'}}
  %0 = dist.reduce_scatter %x {axes = ["dp"], dim = 0 : i64, traffic = "scalars"} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  func.func @root(%x: tensor<4xf32>) {
    // expected-error @+1 {{has the root 4; expected a rank of its group of 4}}
    %0 = dist.broadcast %x {axes = ["dp"], root = 4 : i64, traffic = "parameters"} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

func.func @negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{has the root -1; expected a rank}}
  %0 = dist.reduce %x {axes = ["dp"], root = -1 : i64, traffic = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  func.func @gather(%x: tensor<4x2xf32>) {
    // expected-error @+1 {{makes 'tensor<8x2xf32>' of 'tensor<4x2xf32>' among 4 ranks}}
    %0 = dist.gather %x {axes = ["dp"], root = 0 : i64, traffic = "activations"} : (tensor<4x2xf32>) -> tensor<8x2xf32>
    return
  }
}

// -----

func.func @scatter(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{makes 'tensor<3x2xf32>' of 'tensor<4x2xf32>'}}
  %0 = dist.scatter %x {axes = ["dp"], root = 0 : i64, traffic = "activations"} : (tensor<4x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  func.func @self(%x: tensor<4xf32>) {
    // expected-error @+1 {{sends -8 ranks further, in a group of 4: to itself}}
    %0 = dist.send_receive %x {axes = ["dp"], shift = -8 : i64, traffic = "activations"} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<dp=4>} {
  func.func @terms(%x: tensor<2x3xf32>) {
    // expected-error @+1 {{makes 'tensor<2x2x3xf32>' of 'tensor<2x3xf32>' among 4 ranks}}
    %0 = dist.terms %x {axes = ["dp"]} : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
    return
  }
}

// -----

func.func @flat_terms(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{makes 'tensor<4x6xf32>' of 'tensor<2x3xf32>'}}
  %0 = dist.terms %x {axes = ["dp"]} : (tensor<2x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @served(%x: tensor<4xf32>) {
  // expected-error @+1 {{has served = @w, and is not of_server}}
  %0 = dist.broadcast %x {axes = ["dp"], root = 0 : i64, served = @w, traffic = "parameters"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
