// RUN: not zc-opt %s --zc-share-count 2>&1 | FileCheck %s

// Tests that a module which no roles were made of is refused.

// CHECK: error: expected roles with @step, from --zc-split-stages
func.func @step(%x: tensor<4xf32> {train.input = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
