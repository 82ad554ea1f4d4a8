// RUN: zc-opt %s --zc-assign-offsets --verify-diagnostics

// expected-error @below {{'train.state' op is of kind flight, and lies in no ring; expected ring = "...", which cutting into roles sets}}
train.state @x "flight" : tensor<4xf32>
