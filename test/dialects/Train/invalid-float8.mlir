// RUN: zc-opt %s --verify-diagnostics --split-input-file

func.func @one_block(%a: tensor<16x256xf8E4M3FN>, %b: tensor<256x128xf8E4M3FN>, %s: tensor<16x2xf32>, %t: tensor<f32>) -> tensor<16x128xbf16> {
  // expected-error @+1 {{expected scales of type tensor<f32>, or both of blocks, found 'tensor<f32>'}}
  %0 = train.scaled_matmul %a, %b, %s, %t : (tensor<16x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<16x2xf32>, tensor<f32>) -> tensor<16x128xbf16>
  return %0 : tensor<16x128xbf16>
}

// -----

func.func @no_part(%a: tensor<16x256xf8E4M3FN>, %b: tensor<256x128xf8E4M3FN>, %s: tensor<16x3xf32>, %t: tensor<2x1xf32>) -> tensor<16x128xbf16> {
  // expected-error @+1 {{scales of 'tensor<16x3xf32>' do not divide a factor of 'tensor<16x256xf8E4M3FN>'}}
  %0 = train.scaled_matmul %a, %b, %s, %t : (tensor<16x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<16x3xf32>, tensor<2x1xf32>) -> tensor<16x128xbf16>
  return %0 : tensor<16x128xbf16>
}

// -----

func.func @packed(%a: tensor<16x256xf8E4M3FN>, %b: tensor<256x128xf8E4M3FN>, %s: tensor<2x16xf32>, %t: tensor<1x256xf32>) -> tensor<16x128xbf16> {
  // expected-error @+1 {{packed scales are of blocks of [M, K] and [N, K]}}
  %0 = train.scaled_matmul %a, %b, %s, %t {packed_scales} : (tensor<16x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<2x16xf32>, tensor<1x256xf32>) -> tensor<16x128xbf16>
  return %0 : tensor<16x128xbf16>
}
