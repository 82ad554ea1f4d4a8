// RUN: zc-opt %s --zc-build-init --split-input-file --verify-diagnostics

// expected-error @below {{has the name that zc gives to a state of its own, 'seed'; rename it}}
train.state @seed "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
train.state @w "parameter" : tensor<2xf32> {draw = {normal = 1.0 : f64, index = 0 : i64}}
