// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has "train.rolle", which is no attribute of its dialect}}
module attributes {train.rolle = 0 : i64} {
}

// -----

// expected-error @below {{has "train.role" = 0 : i32; expected an i64}}
module attributes {train.role = 0 : i32} {
}

// -----

// expected-error @below {{has "train.state" = "w"; expected a symbol}}
func.func @step(%w: tensor<4xf32> {train.state = "w"}) {
  return
}

// -----

// expected-error @below {{has "train.metric" = unit; expected a string}}
func.func @step(%w: tensor<f32>) -> (tensor<f32> {train.metric}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{has "dist.traffic" = "letters"; expected gradients, parameters, activations, statistics or scalars}}
func.func @step() attributes {dist.traffic = "letters"} {
  return
}

// -----

// expected-error @below {{has "dist.pass" = "sideways"; expected "forward" or "backward"}}
func.func @step() attributes {dist.pass = "sideways"} {
  return
}

// -----

// expected-error @below {{has "sched.persistent_bytes" = "many"; expected an i64}}
module attributes {sched.persistent_bytes = "many"} {
}
