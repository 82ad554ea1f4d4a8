// RUN: zc-opt %s --split-input-file --zc-apply-precision | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-apply-precision=type=fp16 | FileCheck %s --check-prefix=HALF

// Tests that the step reads a copy of the parameter, that products are of 16
// bits, and that what follows them is until a metric leaves.
// CHECK: train.state @w "parameter" : tensor<4x4xf32>
// CHECK: train.state @w.bf16 "copy" : tensor<4x4xbf16> {parameter = "w"}
// HALF: train.state @w.fp16 "copy" : tensor<4x4xf16> {parameter = "w"}
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32> {train.input = "x"}, %[[W:.*]]: tensor<4x4xbf16> {train.state = @w.bf16})
// CHECK: %[[NARROW:.*]] = train.convert %[[X]] : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK: %[[Y:.*]] = train.matmul %[[NARROW]], %[[W]] : {{.*}} -> tensor<8x4xbf16>
// CHECK: %[[R:.*]] = train.relu %[[Y]] : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
// CHECK: %[[S:.*]] = train.reduce "sum" %[[R]] {{.*}} : (tensor<8x4xbf16>) -> tensor<f32>
// CHECK: return %[[S]] : tensor<f32>
// HALF-LABEL: func.func @step
// HALF: train.matmul {{.*}} -> tensor<8x4xf16>
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.relu %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// The evaluation stays as it is.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: tensor<4x4xf32> {train.state = @w}
// CHECK: train.matmul {{.*}} -> tensor<8x4xf32>
func.func @eval(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<8x4xf32> {train.output = "y"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Tests that a normalisation takes 16 bits and leaves them, with statistics of
// float32, and that an exponential computes in float32.
train.state @w "parameter" : tensor<4x4xf32>
train.state @scale "constant" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK: %[[Y:.*]] = train.matmul
// CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = train.layer_norm %[[Y]], {{.*}} : (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xbf16>, tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[WIDE:.*]] = train.convert %[[N]] : (tensor<8x4xbf16>) -> tensor<8x4xf32>
// CHECK: train.exp %[[WIDE]] : (tensor<8x4xf32>) -> tensor<8x4xf32>
func.func @step(%w: tensor<4x4xf32> {train.state = @w}, %scale: tensor<4xf32> {train.state = @scale},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1:3 = train.layer_norm %0, %scale, %scale {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
  %2 = train.exp %1#0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Tests that where 16 bits meet float32, float32 wins, but for a constant.
train.state @w "parameter" : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
// CHECK: %[[Y:.*]] = train.matmul
// CHECK: %[[WIDE:.*]] = train.convert %[[Y]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: %{{.*}} = train.mul %[[Y]], %{{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK: train.add %[[WIDE]], %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @step(%w: tensor<4x4xf32> {train.state = @w},
    %x: tensor<4x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %half = train.constant dense<0.5> : tensor<4x4xf32>
  %0 = train.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.mul %0, %half : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.add %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = train.reduce "sum" %1 {dims = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %4 = train.reduce "sum" %2 {dims = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %5 = train.add %3, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}

// -----

// Tests that a repeated value is converted before it is repeated: its gradient
// is then added up in float32. A value that is only moved is converted where it
// is read.
train.state @w "parameter" : tensor<4x4xf32>
train.state @scale "parameter" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[Y:.*]] = train.matmul
// CHECK-DAG: %[[WIDE:.*]] = train.convert %{{.*}} : (tensor<1x4xbf16>) -> tensor<1x4xf32>
// CHECK-DAG: %[[ROWS:.*]] = train.broadcast %[[WIDE]] {{.*}} : (tensor<1x4xf32>) -> tensor<8x4xf32>
// CHECK-DAG: %[[EXP:.*]] = train.exp %{{.*}} -> tensor<8x4xf32>
// CHECK: train.mul %[[EXP]], %[[ROWS]]
// CHECK: %[[TURNED:.*]] = train.transpose %[[Y]] {{.*}} -> tensor<4x8xbf16>
// CHECK: train.convert %[[TURNED]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
func.func @step(%w: tensor<4x4xf32> {train.state = @w}, %scale: tensor<4xf32> {train.state = @scale},
    %x: tensor<8x4xf32> {train.input = "x"}) -> (tensor<f32> {train.metric = "loss"}) {
  %0 = train.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = train.exp %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.reshape %scale : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = train.broadcast %2 {dims = array<i64: 0, 1>} : (tensor<1x4xf32>) -> tensor<8x4xf32>
  %4 = train.mul %1, %3 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %6 = train.exp %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = train.reduce "sum" %4 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %8 = train.reduce "sum" %6 {dims = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  %9 = train.add %7, %8 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
