// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-shard-parameters="shard=w=tp,-"

// expected-error @+1 {{has no dist.mesh; run --zc-annotate-mesh}}
module {
  func.func @step() {
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp=2>} {
  // expected-error @+1 {{--shard w=tp,-: there is no parameter and no input 'w'}}
  func.func @step() {
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<4xf32>
  // expected-error @+1 {{--shard w=tp,-: 'w' has 1 dims, found 2}}
  func.func @step(%w: tensor<4xf32> {train.state = @w}) {
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<5x4xf32>
  // expected-error @+1 {{--shard w=tp,-: dim 0 of 'w' has 5 elements, which do not divide among 2 ranks of tp, and train.gather would not read zeros behind them as nothing}}
  func.func @step(%w: tensor<5x4xf32> {train.state = @w},
                  %ids: tensor<3xi64> {train.input = "ids"}) {
    %0 = train.gather %w, %ids {dim = 0 : i64} : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    return
  }
}

// -----

// Zeros under a quotient are not nothing, nor is a matrix that meets itself.
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<5x5xf32>
  // expected-error @+1 {{dim 0 of 'w' has 5 elements, which do not divide among 2 ranks of tp, and train.div would}}
  func.func @step(%w: tensor<5x5xf32> {train.state = @w},
                  %x: tensor<5x5xf32> {train.input = "x"}) {
    %0 = train.div %w, %x : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
    return
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<5x5xf32>
  // expected-error @+1 {{dim 0 of 'w' has 5 elements, which do not divide among 2 ranks of tp, and train.matmul would}}
  func.func @step(%w: tensor<5x5xf32> {train.state = @w}) {
    %0 = train.matmul %w, %w : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
    return
  }
}

// -----

// Tensors that the host feeds are not padded.
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  // expected-error @+1 {{dim 0 of 'w' has 5 elements, which do not divide among 2 ranks of tp}}
  func.func @step(%w: tensor<5x5xf32> {train.input = "w"}) {
    return
  }
}

// -----

// expected-error @+1 {{--shard 'w=tp,-': 'tp' is no axis of the mesh}}
module attributes {dist.mesh = #dist.mesh<dp=2>} {
  func.func @step() {
    return
  }
}
