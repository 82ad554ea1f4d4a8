// RUN: zc-opt %s --split-input-file --verify-diagnostics --zc-shard-parameters='patterns=(((a{255}){255}){255}){255}=tp,-'

// Repetitions of repetitions take no memory before they are refused.
// expected-error @+1 {{--tp-rules '(((a{255}){255}){255}){255}=tp,-': '(((a{255}){255}){255}){255}' is not a regular expression:}}
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<4x4xf32>
  func.func @step(%w: tensor<4x4xf32> {train.state = @w}) {
    return
  }
}
