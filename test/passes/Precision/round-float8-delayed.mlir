// RUN: zc-opt %s --zc-round-float8="scaling=delayed history=3" --canonicalize --cse | FileCheck %s
// RUN: zc-opt %s --zc-round-float8="scaling=delayed history=3" --zc-roll-amax --canonicalize --cse | FileCheck %s --check-prefix=ROLLED

// Tests that a tensor's scale is of the steps before, that its largest magnitude
// counts from the next step on, and that a weight has one history for both of
// its roundings.
// CHECK: train.state @state.w.fp8_amax_input "optimizer" : tensor<4xf32> {parameter = "w", slot = "fp8_amax_input"}
// CHECK: train.state @state.w.fp8_amax_weight "optimizer" : tensor<4xf32>
// CHECK: train.state @state.w.fp8_amax_gradient "optimizer" : tensor<4xf32>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[H:[a-z0-9]*]]: tensor<4xf32> {train.state = @state.w.fp8_amax_input}
// CHECK-DAG: %[[PAST:.*]] = train.slice %[[H]] {offsets = array<i64: 1>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
// CHECK-DAG: %[[SIZE:.*]] = train.amax %[[PAST]] dims [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK-DAG: train.select {{.*}}, %[[SIZE]], {{.*}} -> tensor<f32>
// CHECK-DAG: %[[NOW:.*]] = train.slice %[[H]] {offsets = array<i64: 0>
// CHECK-DAG: %[[INFINITE:.*]] = train.constant dense<0x7F800000> : tensor<f32>
// CHECK-DAG: %[[IS_FINITE:.*]] = train.compare "lt" %[[MEASURED:.*]], %[[INFINITE]]
// CHECK-DAG: %[[FINITE:.*]] = train.select %[[IS_FINITE]], %[[MEASURED]],
// CHECK-DAG: train.reshape %[[FINITE]]
// CHECK-DAG: %[[MOST:.*]] = train.max %[[NOW]],
// CHECK-DAG: train.concat %[[MOST]], %[[PAST]] {dim = 0 : i64}
// CHECK-DAG: train.scaled_matmul %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}} -> tensor<16x48xbf16>
// CHECK-DAG: train.scaled_matmul {{.*}} -> tensor<16x32xbf16>
// CHECK-DAG: train.scaled_matmul {{.*}} -> tensor<32x48xbf16>
// CHECK: return {{.*}} : tensor<16x48xbf16>, tensor<16x32xbf16>, tensor<32x48xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>

// Tests that the step ends with a history whose newest element is free.
// ROLLED-LABEL: func.func @step
// ROLLED: %[[NEXT:.*]] = train.concat {{.*}} : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
// ROLLED: %[[KEPT:.*]] = train.slice %{{.*}} {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
// ROLLED: train.concat %{{.*}}, %[[KEPT]] {dim = 0 : i64}
train.state @w "parameter" : tensor<32x48xf32>
train.state @w.bf16 "copy" : tensor<32x48xbf16> {parameter = "w"}
func.func @step(%x: tensor<16x32xbf16> {train.input = "x"}, %g: tensor<16x48xbf16> {train.input = "g"},
    %w: tensor<32x48xbf16> {train.state = @w.bf16}) -> (tensor<16x48xbf16>, tensor<16x32xbf16>, tensor<32x48xbf16>) {
  %0 = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : (tensor<16x32xbf16>, tensor<32x48xbf16>) -> tensor<16x48xbf16>
  %1 = train.matmul %g, %w {transpose_rhs, float8 = [f8E5M2, f8E4M3FN, "w"]} : (tensor<16x48xbf16>, tensor<32x48xbf16>) -> tensor<16x32xbf16>
  %2 = train.matmul %x, %g {transpose_lhs, float8 = [f8E4M3FN, f8E5M2, "w"]} : (tensor<16x32xbf16>, tensor<16x48xbf16>) -> tensor<32x48xbf16>
  return %0, %1, %2 : tensor<16x48xbf16>, tensor<16x32xbf16>, tensor<32x48xbf16>
}
