// RUN: zc-opt %s --zc-mark-tokens="parts=3 attention=ring dims=times=none" --split-input-file --verify-diagnostics
// Tests that nobody divides nothing: something must tell where tokens are, some
// input must have them, and an attention that is asked for must read them.

// expected-error @below {{no attention tells which dims count tokens, so that 'sp' has nothing to divide; say where they are with --token-dim INPUT=K; inputs are 'times', 'x'}}
module {
  func.func @step(%x: tensor<2x9xf32> {train.input = "x", train.batch_dim = 0 : i64},
                  %times: tensor<2x9xf32> {train.input = "times", train.batch_dim = 0 : i64}) -> tensor<2x9xf32> {
    return %x : tensor<2x9xf32>
  }
}

// -----

// expected-error @below {{--token-dim keeps whole all inputs that count tokens, 'times', so that 'sp' has nothing to divide}}
module {
  func.func @step(%times: tensor<2x9x4x6xf32> {train.input = "times", train.batch_dim = 0 : i64}) -> tensor<2x9x4x6xf32> {
    %result, %sums = train.attention %times, %times, %times {scale = 1.0 : f64} : (tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>) -> (tensor<2x9x4x6xf32>, tensor<2x4x9xf32>)
    return %result : tensor<2x9x4x6xf32>
  }
}

// -----

// expected-error @below {{no input counts the tokens of attention: the model makes them itself (as a convolution makes patches of images), so that 'sp' has nothing to divide; leave it at 1: dp and tp divide such a model}}
module {
  func.func @step(%times: tensor<2x9xf32> {train.input = "times", train.batch_dim = 0 : i64}) -> tensor<2x9x4x6xf32> {
    %0 = train.constant dense<1.0> : tensor<2x9x4x6xf32>
    %result, %sums = train.attention %0, %0, %0 {scale = 1.0 : f64} : (tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32>) -> (tensor<2x9x4x6xf32>, tensor<2x4x9xf32>)
    return %result : tensor<2x9x4x6xf32>
  }
}
