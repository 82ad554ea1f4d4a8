// RUN: not zc-opt %s --split-input-file --zc-split-stages 2>&1 | FileCheck %s

// CHECK: error: expected @step, with stages from --zc-assign-stages
module {
func.func @step() -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
}

// -----

// A role must train the parameters that it evaluates with.
// CHECK: error: 'w1' is read by the evaluation in role 0, which does not train it
!x = tensor<8x64xf32>
!w = tensor<64x64xf32>
module attributes {train.stage_seconds = array<f64: 1.0, 1.0>} {
train.state @w0 "parameter" : !w
train.state @w1 "parameter" : !w
func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0}, %w1: !w {train.state = @w1})
    -> (!x {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  return %1 : !x
}
func.func @eval(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w1: !w {train.state = @w1}) -> (!x {train.output = "y"}) {
  %0 = train.matmul %x, %w1 {train.stage = 0 : i64} : (!x, !w) -> !x
  return %0 : !x
}
}

// -----

// So it is where it reads a parameter as a copy in 16 bits.
// CHECK: error: 'w1' is read by the evaluation in role 0, which does not train it
!x = tensor<8x64xbf16>
!w = tensor<64x64xbf16>
!m = tensor<64x64xf32>
module attributes {train.stage_seconds = array<f64: 1.0, 1.0>} {
train.state @w0 "parameter" : !m
train.state @w1 "parameter" : !m
train.state @w0.bf16 "copy" : !w {parameter = "w0"}
train.state @w1.bf16 "copy" : !w {parameter = "w1"}
func.func @step(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w0: !w {train.state = @w0.bf16}, %w1: !w {train.state = @w1.bf16})
    -> (!x {train.metric = "loss"}) {
  %0 = train.matmul %x, %w0 {train.stage = 0 : i64} : (!x, !w) -> !x
  %1 = train.matmul %0, %w1 {train.stage = 1 : i64} : (!x, !w) -> !x
  return %1 : !x
}
func.func @eval(%x: !x {train.input = "x", train.batch_dim = 0 : i64},
    %w1: !w {train.state = @w1.bf16}) -> (!x {train.output = "y"}) {
  %0 = train.matmul %x, %w1 {train.stage = 0 : i64} : (!x, !w) -> !x
  return %0 : !x
}
}
