// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has a unit, and no unit_offset}}
train.state @w "parameter" : tensor<2xf32> {unit = @v}

// -----

// expected-error @below {{has a unit_stage, and is of kind parameter; expected gathered}}
train.state @w "parameter" : tensor<2xf32> {unit_stage = 0 : i64}

// -----

// expected-error @below {{is per_rank, and of kind parameter; expected optimizer}}
train.state @w "parameter" : tensor<2xf32> {per_rank}

// -----

// expected-error @below {{expected offset of at least 0, found -64}}
train.state @w "parameter" : tensor<2xf32> {offset = -64 : i64}

// -----

// expected-error @below {{expected unit_offset of at least 0, found -1}}
train.state @w "parameter" : tensor<2xf32> {unit = @v, unit_offset = -1 : i64}

// -----

// expected-error @below {{expected unit_stage of at least 0, found -1}}
train.state @w "gathered" : tensor<2xf32> {unit_stage = -1 : i64}

// -----

// expected-error @below {{expected delay of at least 0, found -1}}
train.state @w "parameter" : tensor<2xf32> {delay = -1 : i64}

// -----

// expected-error @below {{expected version_age of at least -1, found -2}}
train.state @w "parameter" : tensor<2xf32> {version_of = @v, version_age = -2 : i64}

// -----

// expected-error @below {{expected messages that are dictionaries, found [1}}
train.state @w "flight" : tensor<2xf32> {messages = [1], ring = "activations.in"}

// -----

// expected-error @below {{expected one or more ascending holders, from 0 on, found array<i64>}}
train.state @w "parameter" : tensor<2xf32> {holders = array<i64>}

// -----

// expected-error @below {{expected one or more ascending holders, from 0 on, found array<i64: -1, 0>}}
train.state @w "parameter" : tensor<2xf32> {holders = array<i64: -1, 0>}

// -----

// expected-error @below {{expected one or more ascending holders, from 0 on, found array<i64: 0, 0>}}
train.state @w "parameter" : tensor<2xf32> {holders = array<i64: 0, 0>}

// -----

// expected-error @below {{is updated on the host, and not offloaded}}
train.state @m "optimizer" : tensor<2xf32> {host_update}

// -----

// expected-error @below {{has a unit_offset, and no unit}}
train.state @w "parameter" : tensor<2xf32> {unit_offset = 64 : i64}

// -----

// expected-error @below {{lies in a ring, or is a message, and is of kind parameter; expected flight}}
train.state @w "parameter" : tensor<2xf32> {ring = "stash"}

// -----

// expected-error @below {{expected version_of with version_age, found one of them}}
train.state @w "parameter" : tensor<2xf32> {version_age = 1 : i64}

// -----

// expected-error @below {{expected one or more ascending holders, from 0 on, found array<i64: 1, 0>}}
train.state @w "parameter" : tensor<2xf32> {holders = array<i64: 1, 0>}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{is async or prefetched, and no collective}}
  %0 = train.fused(%x) {async} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{joins ops for a library, and names none}}
  %0 = train.fused(%x) {joined = {norm = {}}} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{joins "norm" = 1 : i64; expected a dictionary}}
  %0 = train.fused(%x) {joined = {norm = 1 : i64}, library = "cudnn.norm"} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{offloads result 1 of 1}}
  %0 = train.fused(%x) {offloaded = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}
