// RUN: not zc-opt %s --zc-annotate-mesh="mesh=dp=3" 2>&1 | FileCheck %s
// RUN: not zc-opt %s --zc-annotate-mesh="mesh=dp" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not zc-opt %s --zc-annotate-mesh="mesh=dp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK: argument 0: 8 samples do not divide among 3 ranks
// SIZE: mesh: expected AXIS=SIZE, found 'dp'
// TWICE: names the axis 'dp' twice
func.func @step(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0 : i64}) {
  return
}
