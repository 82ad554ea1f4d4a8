// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=adafactor" | FileCheck %s --check-prefix=ADAFACTOR
// RUN: zc-opt %s --zc-build-optimizer-step="optimizer=sm3 momentum=0.9" | FileCheck %s --check-prefix=SM3

// Tests that of a matrix only rows and columns are kept, and of a vector all.
train.state @m "parameter" : tensor<4x6xf32> {source = {file = "m", offset = 0 : i64, length = 96 : i64}}
train.state @v "parameter" : tensor<6xf32> {source = {file = "m", offset = 96 : i64, length = 24 : i64}}
// ADAFACTOR-DAG: train.state @state.m.row_var "optimizer" : tensor<4x1xf32> {parameter = "m", slot = "row_var"}
// ADAFACTOR-DAG: train.state @state.m.col_var "optimizer" : tensor<1x6xf32> {parameter = "m", slot = "col_var"}
// ADAFACTOR-DAG: train.state @state.v.variance "optimizer" : tensor<6xf32>
// SM3-DAG: train.state @state.m.accumulator_0 "optimizer" : tensor<4x1xf32>
// SM3-DAG: train.state @state.m.accumulator_1 "optimizer" : tensor<1x6xf32>
// SM3-DAG: train.state @state.m.momentum_buffer "optimizer" : tensor<4x6xf32>
// SM3-DAG: train.state @state.v.accumulator_0 "optimizer" : tensor<6xf32>
func.func @step(%m: tensor<4x6xf32> {train.state = @m}, %v: tensor<6xf32> {train.state = @v})
    -> (tensor<4x6xf32> {train.gradient = @m}, tensor<6xf32> {train.gradient = @v}) {
  return %m, %v : tensor<4x6xf32>, tensor<6xf32>
}
