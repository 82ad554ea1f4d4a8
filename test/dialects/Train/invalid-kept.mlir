// RUN: zc-opt %s --split-input-file --verify-diagnostics

// Values kept for the backward in fewer bytes.

func.func @max_pool_places_type(%x: tensor<1x2x5xf32>) {
  // expected-error @below {{places is 'tensor<1x2x4xi16>', expected 'tensor<1x2x4xi8>'}}
  %0:2 = train.max_pool_places %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xi16>)
  return
}

// -----

func.func @max_pool_places_grad_image(%k: tensor<1x2x4xi8>, %g: tensor<1x2x4xf32>) {
  // expected-error @below {{grad is 'tensor<1x2x4xf32>', expected 'tensor<1x2x6xf32>'}}
  %0 = train.max_pool_places_grad %k, %g {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x2x4xi8>, tensor<1x2x4xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @pack_bits_dim(%x: tensor<9x4xi1>) {
  // expected-error @below {{dim}}
  %0 = train.pack_bits %x {dim = 2 : i64} : (tensor<9x4xi1>) -> tensor<2x4xi8>
  return
}

// -----

func.func @unpack_bits_size(%x: tensor<2x4xi8>) {
  // expected-error @below {{the packed tensor is 'tensor<2x4xi8>', expected 'tensor<3x4xi8>'}}
  %0 = train.unpack_bits %x {dim = 0 : i64} : (tensor<2x4xi8>) -> tensor<17x4xi1>
  return
}

// -----

func.func @sparse_encode_bits(%x: tensor<3x7xf32>) {
  // expected-error @below {{bits is 'tensor<2xi8>', expected 'tensor<3xi8>'}}
  %0:3 = train.sparse_encode %x : (tensor<3x7xf32>) -> (tensor<2xi8>, tensor<2xi64>, tensor<9xf32>)
  return
}

// -----

func.func @sparse_encode_offsets(%x: tensor<5000xf32>) {
  // expected-error @below {{offsets is 'tensor<2xi64>', expected 'tensor<3xi64>'}}
  %0:3 = train.sparse_encode %x : (tensor<5000xf32>) -> (tensor<625xi8>, tensor<2xi64>, tensor<9xf32>)
  return
}

// -----

func.func @sparse_decode_values(%b: tensor<3xi8>, %o: tensor<2xi64>, %v: tensor<9xf64>) {
  // expected-error @below {{values is 'tensor<9xf64>', expected 'tensor<9xf32>'}}
  %0 = train.sparse_decode %b, %o, %v : (tensor<3xi8>, tensor<2xi64>, tensor<9xf64>) -> tensor<3x7xf32>
  return
}
