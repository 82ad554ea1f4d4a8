// RUN: zc-opt %s --split-input-file --verify-diagnostics
// Tests what the ops' verifiers refuse, and in which words.

func.func @softmax_dim(%x: tensor<2x3xf32>) {
  // expected-error @below {{dim is 2, but the operand has 2 dims}}
  %0 = train.softmax %x {dim = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_axis(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{axis is -1, but the operand has 2 dims}}
  %0:3 = train.layer_norm %x, %w, %w {axis = -1 : i64, epsilon = 0.1 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  // expected-error @below {{scale is 'tensor<2xf32>', expected 'tensor<3xf32>'}}
  %0:3 = train.layer_norm %x, %w, %w {axis = 1 : i64, epsilon = 0.1 : f64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_grad_mean(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{mean is 'tensor<3xf32>', expected 'tensor<2xf32>'}}
  %0 = train.layer_norm_grad %x, %w, %w, %w, %x {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_no_channels(%x: tensor<3xf32>) {
  // expected-error @below {{input is 'tensor<3xf32>', expected at least 2 dims}}
  %0 = train.batch_norm %x, %x, %x, %x, %x {channel_dim = 0 : i64, epsilon = 0.1 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @batch_norm_variance(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %v: tensor<2xf32>) {
  // expected-error @below {{variance is 'tensor<2xf32>', expected 'tensor<3xf32>'}}
  %0 = train.batch_norm %x, %c, %c, %c, %v {channel_dim = 1 : i64, epsilon = 0.1 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_training_dim(%x: tensor<2x3xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{channel_dim is 2, but the operand has 2 dims}}
  %0:3 = train.batch_norm_training %x, %c, %c {channel_dim = 2 : i64, epsilon = 0.1 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_grad(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<3x3xf32>) {
  // expected-error @below {{grad is 'tensor<3x3xf32>', expected 'tensor<2x3xf32>'}}
  %0:3 = train.batch_norm_grad %x, %c, %c, %c, %g {channel_dim = 1 : i64, epsilon = 0.1 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @channel_moments_input(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{input is 'tensor<2x3xf32>', expected [parts, rows, channels]}}
  %0:2 = train.channel_moments %x : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @channel_moments_deviations(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{deviations}}
  %0:2 = train.channel_moments %x : (tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @channel_products_mean(%x: tensor<2x3x4xf32>, %m: tensor<3xf32>) {
  // expected-error @+1 {{mean}}
  %0:2 = train.channel_products %x, %m, %x : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<2x3xf32>, %l: tensor<3xi64>) {
  // expected-error @below {{labels are 'tensor<3xi64>', expected the shape of the logits 'tensor<2x3xf32>' without the last dim}}
  %0:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @cross_entropy_no_classes(%x: tensor<2x0xf32>, %l: tensor<2xi64>) {
  // expected-error @below {{logits have no classes}}
  %0:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<2x0xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @cross_entropy_loss(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  // expected-error @below {{loss is 'tensor<f32>', expected 'tensor<2xf32>'}}
  %0:2 = train.softmax_cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<2xf32>)
  return
}

// -----

func.func @cross_entropy_grad_grad(%x: tensor<2x3xf32>, %l: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{grad is 'tensor<2x3xf32>', expected 'tensor<2xf32>'}}
  %0 = train.softmax_cross_entropy_grad %x, %l, %s, %x {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_dim(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{dim is 2, but the operand has 2 dims}}
  %0 = train.gather %t, %i {dim = 2 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_result(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{result is 'tensor<4x2xf32>', expected 'tensor<2x3xf32>'}}
  %0 = train.gather %t, %i {dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_empty(%t: tensor<0x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{table has no elements along dim 0}}
  %0 = train.gather %t, %i {dim = 0 : i64} : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_batch(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{batch_dims is 1, but table, 'tensor<4x3xf32>', and indices, 'tensor<2xi64>', do not have so many dims in common before dim 1}}
  %0 = train.gather %t, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_add_batch(%t: tensor<4x3xf32>, %i: tensor<4xi64>, %u: tensor<4xf32>) {
  // expected-error @below {{batch_dims is 1, but init, 'tensor<4x3xf32>', and indices, 'tensor<4xi64>', do not have so many dims in common before dim 0}}
  %0 = train.scatter_add %t, %i, %u {dim = 0 : i64, batch_dims = 1 : i64} : (tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_add_updates(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{updates is 'tensor<4x3xf32>', expected 'tensor<2x3xf32>'}}
  %0 = train.scatter_add %t, %i, %t {dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_reduce_kind(%t: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // expected-error @below {{attribute 'kind' failed to satisfy constraint: a kind of scatter, which is max, min, prod, last, alike, sum}}
  %0 = train.scatter_reduce "mul" %t, %i, %u {dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_reduce_sum(%t: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // expected-error @below {{a sum of floats is train.scatter_add}}
  %0 = train.scatter_reduce "sum" %t, %i, %u {dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_reduce_updates(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{updates is 'tensor<4x3xf32>', expected 'tensor<2x3xf32>'}}
  %0 = train.scatter_reduce "max" %t, %i, %t {dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @conv_filter_dims(%x: tensor<1x2x5x5xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{filter is 'tensor<4x2x3xf32>', but the image 'tensor<1x2x5x5xf32>' has 4 dims}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<4x2x3xf32>) -> tensor<1x4x3x3xf32>
  return
}

// -----

func.func @conv_strides(%x: tensor<1x2x5xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{strides has 2 entries, but the image has 1 spatial dims}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x5xf32>, tensor<4x2x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_dilations(%x: tensor<1x2x5xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{dilations has an entry of 0, expected at least 1}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 0>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x5xf32>, tensor<4x2x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_window(%x: tensor<1x2x5xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{window spans 7 elements of dim 2, but the image has 6 with its padding}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 3>, pads_low = array<i64: 1>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x5xf32>, tensor<4x2x3xf32>) -> tensor<1x4x1xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<1x4x5xf32>, %w: tensor<4x1x3xf32>) {
  // expected-error @below {{groups is 3, which does not divide the 4 channels of the image and the 4 of the output}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 3 : i64} : (tensor<1x4x5xf32>, tensor<4x1x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_channels(%x: tensor<1x4x5xf32>, %w: tensor<4x4x3xf32>) {
  // expected-error @below {{filter is 'tensor<4x4x3xf32>', expected dim 1 to be the image's 4 channels / 2 groups}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 2 : i64} : (tensor<1x4x5xf32>, tensor<4x4x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<1x5x2xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{result is 'tensor<1x4x3xf32>', expected 'tensor<1x3x4xf32>'}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 1 : i64, channels_last} : (tensor<1x5x2xf32>, tensor<4x2x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @conv_input_grad_grad(%g: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{grad is 'tensor<1x4x4xf32>', expected 'tensor<1x4x3xf32>'}}
  %0 = train.conv_input_grad %g, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x4x4xf32>, tensor<4x2x3xf32>) -> tensor<1x2x5xf32>
  return
}

// -----

func.func @conv_filter_grad_element(%x: tensor<1x2x5xf32>, %g: tensor<1x4x3xf32>) {
  // expected-error @below {{filter is 'tensor<4x2x3xf64>', expected the element type of the image, 'f32'}}
  %0 = train.conv_filter_grad %x, %g {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, groups = 1 : i64} : (tensor<1x2x5xf32>, tensor<1x4x3xf32>) -> tensor<4x2x3xf64>
  return
}

// -----

func.func @matmul_inner(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{contracts 3 with 4 elements}}
  %0 = train.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul_result(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected a result of 2 x 5}}
  %0 = train.matmul %a, %b : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @compare_predicate(%x: tensor<2xf32>) {
  // expected-error @below {{attribute 'predicate' failed to satisfy constraint: a predicate, which is eq, ne, lt, le, gt, ge}}
  %0 = train.compare "less" %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @broadcast_size(%x: tensor<3xf32>) {
  // expected-error @below {{operand dim 0 is 3, result dim 1 is 4}}
  %0 = train.broadcast %x {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<3xf32>) {
  // expected-error @below {{operand has 3 elements, result 4}}
  %0 = train.reshape %x : (tensor<3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_permutation(%x: tensor<2x2xf32>) {
  // expected-error @below {{permutation is none}}
  %0 = train.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_bounds(%x: tensor<5xf32>) {
  // expected-error @below {{dim 0 of size 5 has no elements 2 to 6 by 2}}
  %0 = train.slice %x {offsets = array<i64: 2>, strides = array<i64: 2>} : (tensor<5xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_bounds(%x: tensor<3xf32>) {
  // expected-error @below {{dim 0 of size 5 has no place for elements 1 to 5 by 2}}
  %0 = train.pad %x {low = array<i64: 1>, interior = array<i64: 1>} : (tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_sum(%x: tensor<3xf32>) {
  // expected-error @below {{operands have 6 along dim 0, the result 5}}
  %0 = train.concat %x, %x {dim = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @split_sum(%x: tensor<3xf32>) {
  // expected-error @below {{results have 4 along dim 0, the operand 3}}
  %0:2 = train.split %x {dim = 0 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @split_dims(%x: tensor<3x2xf32>) {
  // expected-error @below {{result 0 dim 1 is 1, the operand has 2}}
  %0:2 = train.split %x {dim = 0 : i64} : (tensor<3x2xf32>) -> (tensor<2x1xf32>, tensor<1x2xf32>)
  return
}

// -----

// expected-error @below {{attribute 'kind' failed to satisfy constraint: a kind of state, which is parameter, copy, constant, statistic, optimizer, scalar, accumulator, gathered, flight}}
train.state @w "weight" : tensor<2xf32>

// -----

// expected-error @below {{value has type 'tensor<3xf32>'}}
train.state @w "parameter" : tensor<2xf32> {value = dense<0.0> : tensor<3xf32>}

// -----

func.func @fused_yield(%x: tensor<3xf32>) {
  // expected-error @below {{does not yield values of the results' types}}
  %0 = train.fused(%x) : (tensor<3xf32>) -> tensor<2xf32> {
  ^bb0(%y: tensor<3xf32>):
    train.yield %y : tensor<3xf32>
  }
  return
}

// -----

func.func @fused_shared(%x: tensor<3xf32>) {
  // expected-error @below {{shared_buffers names no operand or result}}
  %0 = train.fused(%x) {shared_buffers = array<i64: 1, 0>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%y: tensor<3xf32>):
    train.yield %y : tensor<3xf32>
  }
  return
}

// -----

func.func @attention_query(%q: tensor<2x3x4xf32>) {
  // expected-error @below {{query is 'tensor<2x3x4xf32>', expected [batch, queries, heads, width]}}
  %0:2 = train.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @attention_value(%q: tensor<2x3x4x5xf32>, %v: tensor<2x6x4x5xf32>) {
  // expected-error @below {{value is 'tensor<2x6x4x5xf32>', expected 'tensor<2x3x4x5xf32>'}}
  %0:2 = train.attention %q, %q, %v {scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x6x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_causal(%q: tensor<2x3x4x5xf32>, %k: tensor<2x6x4x5xf32>) {
  // expected-error @below {{is causal with 3 queries and 6 keys}}
  %0:2 = train.attention %q, %k, %k {causal, scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x6x4x5xf32>, tensor<2x6x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_grad_sums(%q: tensor<2x3x4x5xf32>, %l: tensor<2x3x4xf32>) {
  // expected-error @below {{log_sum_exp is 'tensor<2x3x4xf32>', expected 'tensor<2x4x3xf32>'}}
  %0:3 = train.attention_grad %q, %q, %q, %q, %l, %q {scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4xf32>, tensor<2x3x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>)
  return
}

// -----

func.func @reduce_kind(%x: tensor<3xf32>) {
  // expected-error @below {{attribute 'kind' failed to satisfy constraint: a kind of reduction, which is sum, max, min, prod, sum_square}}
  %0 = train.reduce "mean" %x {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @dropout_ratio(%x: tensor<3xf32>, %k: tensor<3xi64>) {
  // expected-error @below {{expected a ratio in [0, 1), found 1.0}}
  %0 = train.dropout_training %x, %k, %k {ratio = 1.0 : f64} : (tensor<3xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @dropout_position(%x: tensor<3xf32>, %k: tensor<3xi64>, %p: tensor<3xi32>) {
  // expected-error @below {{expected a key of i64, found 'tensor<3xi32>'}}
  %0 = train.dropout_training %x, %k, %p {ratio = 0.5 : f64} : (tensor<3xf32>, tensor<3xi64>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @random_key(%k: tensor<i32>) {
  // expected-error @below {{expected a key of i64, found 'tensor<i32>'}}
  %0 = train.random_key %k, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @random_position(%k: tensor<3xi64>, %p: tensor<3xi32>) {
  // expected-error @below {{expected a key of i64, found 'tensor<3xi32>'}}
  %0 = train.random_normal %k, %p {std = 1.0 : f64} : (tensor<3xi64>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @iota_type() {
  // expected-error @below {{expected a vector of i64, found 'tensor<2x2xi64>'}}
  %0 = train.iota {stride = 1 : i64} : () -> tensor<2x2xi64>
  return
}

// -----

// expected-error @below {{has an initial value and draws another}}
train.state @w "parameter" : tensor<2xf32> {value = dense<0.0> : tensor<2xf32>, draw = {constant = 1.0 : f64}}

// -----

// expected-error @below {{expected a draw that is constant, or uniform, normal or truncated_normal with an index, found}}
train.state @w "parameter" : tensor<2xf32> {draw = {normal = 1.0 : f64}}

// -----

// expected-error @below {{draws no floating-point numbers}}
train.state @w "constant" : tensor<2xi64> {draw = {constant = 1.0 : f64}}

// -----

func.func @attention_mask(%q: tensor<2x3x4x5xf32>, %m: tensor<2x1x3xf32>) {
  // expected-error @below {{mask is 'tensor<2x1x3xf32>', expected 'f32' [2 or 1, 4 or 1, 3 or 1, 3]}}
  %0:2 = train.attention %q, %q, %q, %m {scale = 1.0 : f64} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x1x3xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3xf32>)
  return
}
