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

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{lists among gradients result 1 of 1}}
  %0 = train.fused(%x) {gradients = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{lists among kept_gradients result -1 of 1}}
  %0 = train.fused(%x) {kept_gradients = array<i64: -1>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    train.yield %a : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

// expected-error @below {{expected a group of lr_scale and weight_decay, which are numbers, found {momentum = 9.000000e-01 : f64}}}
train.state @w "parameter" : tensor<2xf32> {group = {momentum = 0.9 : f64}}

// -----

// expected-error @below {{expected blocks of each of 1 dims, found [array<i64: 1, 1>, array<i64>]}}
train.state @w "parameter" : tensor<2xf32> {blocks = [array<i64: 1, 1>, array<i64>]}

// -----

// expected-error @below {{attribute 'blocks' failed to satisfy constraint: a list of array<i64>}}
train.state @w "parameter" : tensor<2xf32> {blocks = [8 : i64]}

// -----

// expected-error @below {{is a coordinate, and of kind parameter; expected scalar}}
train.state @w "parameter" : tensor<i64> {coordinate = "dp"}

// -----

func.func @step(%x: tensor<16x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<16x48xbf16> {
  // expected-error @below {{expected two types of 8-bit floats, and a weight's name, in float8, found [bf16, f8E4M3FN, "w"]}}
  %0 = train.matmul %x, %w {float8 = [bf16, f8E4M3FN, "w"]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xbf16> {
  // expected-error @below {{is of_backward, and rounds_parameter is not set}}
  %0 = train.convert %x {of_backward} : (tensor<3xf32>) -> tensor<3xbf16>
  return %0 : tensor<3xbf16>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xi32> {
  // expected-error @below {{rounds what an op has computed, and is not of floats}}
  %0 = train.convert %x {rounds_result} : (tensor<3xf32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @step(%x: tensor<3xf32>) -> tensor<3xf64> {
  // expected-error @below {{rounds its operand, which has no floats of 16 bits}}
  %0 = train.convert %x {rounds_operand} : (tensor<3xf32>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

func.func @step(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @below {{leaves gaps along dim 0, and is in_loops}}
  %0 = train.slice %x {in_loops, offsets = array<i64: 0>, strides = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<12xf32> {
  // expected-error @below {{is in_loops, and joins no two equal parts along the innermost dim}}
  %0 = train.concat %x, %y {dim = 0 : i64, in_loops} : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// -----

func.func @step(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected room_groups with room_capacity, found one of them}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64, room_groups = 1 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x5xf32>
  return
}

// -----

func.func @step(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected room_groups and room_capacity of at least 1, found 0}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64, room_capacity = 0 : i64, room_groups = 1 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x5xf32>
  return
}

// -----

func.func @step(%q: tensor<2x4x1x8xf32>) {
  // expected-error @below {{attribute 'tokens' failed to satisfy constraint: a source of keys, which is ring, ring=zigzag, gather, gather=zigzag, whole}}
  %0:2 = train.attention %q, %q, %q {scale = 1.0 : f64, tokens = "spiral"} : (tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>) -> (tensor<2x4x1x8xf32>, tensor<2x1x4xf32>)
  return
}
