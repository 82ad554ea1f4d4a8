// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=adam moment-precision=bf16 gradient-edges=-24,0" | FileCheck %s

// Tests that first moments of 16 bits are updated in float32, that second ones
// keep float32, and that elements of gradients below two powers of two and
// infinity are counted, and so are those that are not.
// CHECK-DAG: train.state @state.w.exp_avg "optimizer" : tensor<4xbf16>
// CHECK-DAG: train.state @state.w.exp_avg_sq "optimizer" : tensor<4xf32>
train.state @w "parameter" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<4xf32> {train.metric = "gradient_counts"}
// CHECK-SAME: tensor<4xbf16> {train.state = @state.w.exp_avg}
// CHECK: %[[BELOW:.*]] = train.compare "lt" %{{.*}}, %{{.*}} : (tensor<4x1x1x4xf32>, tensor<4x1x1x4xf32>)
// CHECK: %[[ONES:.*]] = train.convert %[[BELOW]]
// CHECK: %[[FLIPPED:.*]] = train.sub %[[ONES]]
// CHECK: train.abs %[[FLIPPED]]
// CHECK: %[[WIDE:.*]] = train.convert %{{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: train.sub %{{.*}}, %[[WIDE]] : (tensor<4xf32>, tensor<4xf32>)
// CHECK: train.convert %{{.*}} {rounds_result} : (tensor<4xf32>) -> tensor<4xbf16>
func.func @step(%w: tensor<4xf32> {train.state = @w})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf32> {train.gradient = @w}) {
  %0 = train.reduce "sum" %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %0, %w : tensor<f32>, tensor<4xf32>
}
