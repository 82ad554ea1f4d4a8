// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has "train.rolle", which is no attribute of its dialect}}
module attributes {train.rolle = 0 : i64} {
}

// -----

// expected-error @below {{has "train.role" = 0 : i32; expected an i64}}
module attributes {train.role = 0 : i32} {
}

// -----

// expected-error @below {{has "train.role" on a function; expected it on a module}}
func.func @step() attributes {train.role = 0 : i64} {
  return
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

// expected-error @below {{has "train.metric" on an argument; expected it on a result}}
func.func @step(%w: tensor<f32> {train.metric = "loss"}) {
  return
}

// -----

func.func @step(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{has "dist.traffic" = "letters"; expected gradients, parameters, activations, statistics or scalars}}
  %0 = train.exp %x {dist.traffic = "letters"} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @step(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{has "dist.pass" = "sideways"; expected "forward" or "backward"}}
  %0 = dist.reshard %x {dist.pass = "sideways"} : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @step(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{has "dist.results" = [1]; expected a list of #dist.sharding}}
  %0 = train.exp %x {dist.results = [1]} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{has "dist.whole" on a module; expected it on an argument or a result or a state or a buffer or instruction}}
module attributes {dist.whole = tensor<4xf32>} {
}

// -----

// expected-error @below {{has "sched.persistent_bytes" = "many"; expected an i64}}
module attributes {sched.persistent_bytes = "many"} {
}

// -----

// expected-error @below {{has "sched.signature" = array<i32: 4>; expected an array<i64>}}
func.func private @kernel() attributes {sched.signature = array<i32: 4>}

// -----

// Tests that what a region says is its property, and no mark.
func.func @step(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{has "train.late" on a fused op; expected it on a tensor op}}
  %0 = train.fused(%x) {train.late} : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    train.yield %a : tensor<f32>
  }
  return %0 : tensor<f32>
}
