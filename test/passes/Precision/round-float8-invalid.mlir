// RUN: zc-opt %s --verify-diagnostics --split-input-file --zc-round-float8="scaling=delayed history=2"

// expected-error @+1 {{has the name that zc gives to a state of its own, 'state.w.fp8_amax_input'; rename it}}
train.state @state.w.fp8_amax_input "constant" : tensor<4xf32>
train.state @w "parameter" : tensor<32x48xbf16>
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %w: tensor<32x48xbf16> {train.state = @w}) -> tensor<16x48xbf16> {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}

// -----

train.state @w "parameter" : tensor<32x48xbf16>
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %w: tensor<32x48xbf16> {train.state = @w}) -> tensor<16x48xbf16> {
  // expected-error @+1 {{expected the weight's name in [f8E4M3FN, f8E4M3FN]}}
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}

// -----

// expected-error @+1 {{'w' is a weight of several stages, or of replicas of one, which would each keep largest magnitudes of their own; give its nodes one stage with --stages, and no replicas, or use --fp8-scaling current or block}}
train.state @w "parameter" : tensor<32x48xbf16> {holders = array<i64: 0, 1>}
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %w: tensor<32x48xbf16> {train.state = @w}) -> tensor<16x48xbf16> {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  return %0 : tensor<16x48xbf16>
}
