// RUN: zc-opt %s --zc-widen-sums | FileCheck %s

// Tests that sums and statistics have float32, and are rounded where the model
// says so; and that exponentials are computed in it.
// CHECK-LABEL: func.func @sums
// CHECK: %[[S:.*]] = train.reduce "sum" %{{.*}} : (tensor<8x4xbf16>) -> tensor<8xf32>
// CHECK: %[[R:.*]] = train.convert %[[S]] {{.*}}: (tensor<8xf32>) -> tensor<8xbf16>
// CHECK: %[[W:.*]] = train.convert %[[R]] : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK: %[[E:.*]] = train.exp %[[W]] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: %[[N:.*]] = train.convert %[[E]] {{.*}}: (tensor<8xf32>) -> tensor<8xbf16>
// CHECK: return %[[N]]
func.func @sums(%x: tensor<8x4xbf16>) -> tensor<8xbf16> {
  %0 = train.reduce "sum" %x {dims = array<i64: 1>} : (tensor<8x4xbf16>) -> tensor<8xbf16>
  %1 = train.exp %0 : (tensor<8xbf16>) -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// CHECK-LABEL: func.func @norm
// CHECK: train.layer_norm {{.*}} -> (tensor<8x4xf16>, tensor<8xf32>, tensor<8xf32>)
func.func @norm(%x: tensor<8x4xf16>, %w: tensor<4xf16>) -> tensor<8x4xf16> {
  %0:3 = train.layer_norm %x, %w, %w {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x4xf16>, tensor<4xf16>, tensor<4xf16>) -> (tensor<8x4xf16>, tensor<8xf16>, tensor<8xf16>)
  return %0#0 : tensor<8x4xf16>
}

// CHECK-LABEL: func.func @wide
// CHECK-NOT: train.convert
func.func @wide(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = train.reduce "sum" %x {dims = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %1 = train.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
