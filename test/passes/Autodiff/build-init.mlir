// RUN: zc-opt %s --zc-build-init --split-input-file | FileCheck %s

// Tests that @init returns zeros for what nothing else initialises, and reads
// the seed, which the host writes, as it does where a rank is in the mesh.
train.state @stored "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
train.state @known "constant" : tensor<2xf32> {value = dense<1.0> : tensor<2xf32>}
train.state @moment "optimizer" : tensor<2xf32> {parameter = "stored", slot = "exp_avg"}
train.state @seed "scalar" : tensor<i64>
train.state @coordinate.pp "scalar" : tensor<i64> {coordinate = "pp"}
// CHECK-LABEL: func.func @init()
// CHECK-SAME: -> (tensor<2xf32> {train.state = @moment})
// CHECK: %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: return %[[ZERO]] :

// -----

// Tests that keys follow from the draws' indices alone, each from the one
// before, and places from iotas.
train.state @scale "parameter" : tensor<8xf32> {draw = {constant = 1.0 : f64}}
train.state @second "parameter" : tensor<8xf32> {draw = {uniform = 0.125 : f64, index = 2 : i64}}
train.state @first "parameter" : tensor<1x4x8xf32> {draw = {normal = 0.02 : f64, index = 0 : i64}}
// CHECK: train.state @seed "scalar" : tensor<i64>
// CHECK-LABEL: func.func @init(
// CHECK-SAME: %[[SEED:.*]]: tensor<i64> {train.state = @seed})
// CHECK-SAME: -> (tensor<8xf32> {train.state = @scale}, tensor<8xf32> {train.state = @second}, tensor<1x4x8xf32> {train.state = @first})
// CHECK-DAG: %[[STEP:.*]] = train.constant dense<-7046029254386353131> : tensor<i64>
// CHECK-DAG: %[[ZERO:.*]] = train.constant dense<0> : tensor<i64>
// CHECK: %[[STATE0:.*]] = train.add %[[SEED]], %[[STEP]]
// CHECK: %[[KEY0:.*]] = train.random_key %[[STATE0]], %[[ZERO]]
// CHECK: %[[STATE1:.*]] = train.add %[[STATE0]], %[[STEP]]
// CHECK: %[[STATE2:.*]] = train.add %[[STATE1]], %[[STEP]]
// CHECK: %[[KEY2:.*]] = train.random_key %[[STATE2]], %[[ZERO]]
// CHECK: %[[SCALE:.*]] = train.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK: %[[KEYS2:.*]] = train.broadcast %[[KEY2]]
// CHECK: %[[IOTA:.*]] = train.iota {stride = 1 : i64} : () -> tensor<8xi64>
// CHECK: %[[SECOND:.*]] = train.random_uniform %[[KEYS2]], %[[IOTA]] {bound = 1.250000e-01 : f64}
// CHECK: %[[KEYS0:.*]] = train.broadcast %[[KEY0]]
// CHECK: %[[COLUMNS:.*]] = train.broadcast %{{.*}} {dims = array<i64: 2>}
// CHECK: train.iota {stride = 8 : i64} : () -> tensor<4xi64>
// CHECK: %[[ROWS:.*]] = train.broadcast %{{.*}} {dims = array<i64: 1>}
// CHECK: %[[FIRST:.*]] = train.random_normal %[[KEYS0]], %[[COLUMNS]], %[[ROWS]] {std = 2.000000e-02 : f64}
// CHECK: return %[[SCALE]], %[[SECOND]], %[[FIRST]]

// -----

// Tests that no program is made where everything is stored.
train.state @stored "parameter" : tensor<2xf32> {source = {file = "w", offset = 0 : i64, length = 8 : i64}}
// CHECK: train.state @stored
// CHECK-NOT: func.func
