// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels | FileCheck %s

// Tests that a row's own number, its loss, does not make a team have many rows:
// 4096 teams.
// CHECK-LABEL: func.func @losses(
// CHECK-SAME: sched.signature = array<i64: 4096, 512,
sched.kernel @losses {
^bb0(%x: tensor<4096x50304xbf16>, %y: tensor<4096xi64>):
  %loss, %sum = train.softmax_cross_entropy %x, %y {ignore_index = -100 : i64} : (tensor<4096x50304xbf16>, tensor<4096xi64>) -> (tensor<4096xf32>, tensor<4096xf32>)
  train.yield %loss, %sum : tensor<4096xf32>, tensor<4096xf32>
}

// Tests that a thread has 16 bytes of a row at once: 96 of a team's 128 threads
// have something to do.
// CHECK-LABEL: func.func @norms(
// CHECK-SAME: sched.signature = array<i64: 8192, 128,
sched.kernel @norms {
^bb0(%x: tensor<8192x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>):
  %y, %mean, %rstd = train.layer_norm %x, %w, %b {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<8192x768xbf16>, tensor<768xbf16>, tensor<768xbf16>) -> (tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>)
  train.yield %y, %mean, %rstd : tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>
}

// Tests that a team has whole lines of memory, 64 columns of 16 bits; and half
// or a quarter of them where teams are few.
// CHECK-LABEL: func.func @many(
// CHECK-SAME: sched.signature = array<i64: 384, 512,
// CHECK-LABEL: func.func @few(
// CHECK-SAME: sched.signature = array<i64: 96, 512,
sched.kernel @many {
^bb0(%x: tensor<32x1024x768xbf16>):
  %0 = train.reduce "sum" %x {dims = array<i64: 1>} : (tensor<32x1024x768xbf16>) -> tensor<32x768xf32>
  train.yield %0 : tensor<32x768xf32>
}
sched.kernel @few {
^bb0(%x: tensor<2x16384x768xbf16>):
  %0 = train.reduce "sum" %x {dims = array<i64: 1>} : (tensor<2x16384x768xbf16>) -> tensor<2x768xf32>
  train.yield %0 : tensor<2x768xf32>
}
