// RUN: zc-opt %s --split-input-file --verify-diagnostics
// Tests the messages about last keys that do not fit.

func.func @attention_last_keys(%q: tensor<2x3x4x5xf32>, %m: tensor<1x1x1x3xi64>) {
  // expected-error @below {{mask is 'tensor<1x1x1x3xi64>', expected 'tensor<1x1x3x1xi64>'}}
  %0:2 = train.attention %q, %q, %q, %m {scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<1x1x1x3xi64>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_causal_twice(%q: tensor<2x3x4x5xf32>, %m: tensor<1x1x3x1xi64>) {
  // expected-error @below {{is causal, and has the queries' last keys, too}}
  %0:2 = train.attention %q, %q, %q, %m {causal, scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<1x1x3x1xi64>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3xf32>)
  return
}
