// RUN: zc-opt %s --zc-roll-amax | FileCheck %s

// Tests that where a step has several micro-batches, @apply ends it, whatever
// they left.
// CHECK-LABEL: func.func @micro
// CHECK-NEXT: return %arg0
// CHECK-LABEL: func.func @apply
// CHECK-SAME: %[[H:.*]]: tensor<3xf32> {train.state = @state.w.fp8_amax_input}
// CHECK-SAME: -> (tensor<3xf32> {train.state = @state.w.fp8_amax_input})
// CHECK: %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: %[[KEPT:.*]] = train.slice %[[H]] {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<2xf32>
// CHECK: %[[NEXT:.*]] = train.concat %[[ZERO]], %[[KEPT]] {dim = 0 : i64}
// CHECK: return %[[NEXT]]
train.state @state.w.fp8_amax_input "optimizer" : tensor<3xf32> {parameter = "w", slot = "fp8_amax_input"}
func.func @micro(%h: tensor<3xf32> {train.state = @state.w.fp8_amax_input}) -> (tensor<3xf32> {train.state = @state.w.fp8_amax_input}) {
  return %h : tensor<3xf32>
}
func.func @apply() {
  return
}
