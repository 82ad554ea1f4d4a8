// RUN: zc-opt %s --zc-accumulate-gradients | FileCheck %s

// Tests that gradients of 16 bits are added up in float32, where ranks each add
// up their own: what is widened for that stays a term of their sum.
train.state @w "parameter" : tensor<4xf32>
// CHECK: train.state @accumulated.w "accumulator" : tensor<4xf32>
// CHECK-LABEL: func.func @micro
// CHECK: %[[WIDE:.*]] = train.convert %{{.*}} {stays_term} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: train.add %{{.*}}, %[[WIDE]]
func.func @step(%l: tensor<f32> {train.input = "l"}, %g: tensor<4xf16> {train.input = "g"})
    -> (tensor<f32> {train.metric = "loss"}, tensor<4xf16> {train.gradient = @w}) {
  return %l, %g : tensor<f32>, tensor<4xf16>
}
