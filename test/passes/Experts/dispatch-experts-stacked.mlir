// RUN: zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{axis=ep ranks=2})' | FileCheck %s
// RUN: not zc-opt %s --pass-pipeline='builtin.module(zc-dispatch-experts{axis=ep ranks=2 pack-parameters=false})' 2>&1 | FileCheck %s --check-prefix=KEEP

// Tests that parameters of one expert each, which the model stacks, become the
// members of a vector that ranks divide, unless the optimizer wants them as they
// are.
// CHECK-DAG: train.state @experts.0 "parameter" : tensor<80xf32> {{.*}}dist.sharding = #dist.sharding<ep>
// CHECK: func.func @forward
// CHECK-NOT: train.concat
// CHECK: train.reshape %{{.*}} : (tensor<80xf32>) -> tensor<2x5x8xf32>
// CHECK: train.grouped_matmul
// CHECK: module @units
// CHECK: train.state @a "parameter" : tensor<5x8xf32> {unit = @experts.0, unit_offset = 0 : i64}
// CHECK: train.state @b "parameter" : tensor<5x8xf32> {unit = @experts.0, unit_offset = 40 : i64}
// KEEP: its experts' weights are computed, stacked of parameters of one expert each, whose rows and columns the optimizer looks at one by one
train.state @a "parameter" : tensor<5x8xf32>
train.state @b "parameter" : tensor<5x8xf32>
func.func @forward(%a: tensor<5x8xf32> {train.state = @a}, %b: tensor<5x8xf32> {train.state = @b}, %x: tensor<2x3x5xf32> {train.batch_dim = 0 : i64, train.input = "x"}, %groups: tensor<6xi64>) -> tensor<6x8xf32> {
  %ids = train.iota {stride = 1 : i64} : () -> tensor<2xi64>
  %0 = train.reshape %a : (tensor<5x8xf32>) -> tensor<1x5x8xf32>
  %1 = train.reshape %b : (tensor<5x8xf32>) -> tensor<1x5x8xf32>
  %w = train.concat %0, %1 {dim = 0 : i64} : (tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<2x5x8xf32>
  %rows = train.reshape %x : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %2 = train.grouped_matmul %rows, %w, %groups, %ids {experts = 2 : i64} : (tensor<6x5xf32>, tensor<2x5x8xf32>, tensor<6xi64>, tensor<2xi64>) -> tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
