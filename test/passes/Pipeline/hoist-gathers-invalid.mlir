// RUN: not zc-opt %s --zc-hoist-gathers 2>&1 | FileCheck %s

// Tests that units stay gathered for micro-batches alone.

// CHECK: error: expected @micro, from --zc-accumulate-gradients
module attributes {train.reshard_every = 2 : i64} {
func.func @step() {
  return
}
}
