// RUN: not zc-opt %s --split-input-file --zc-add-versions 2>&1 | FileCheck %s

// Tests that versions need a micro-batch and an update, that the update makes
// them, and that micro-batches do not.

// CHECK: error: expected @micro and @apply, from --zc-accumulate-gradients
train.state @w "parameter" : tensor<4xf32> {delay = 1 : i64}

// -----

// CHECK: error: 'w' is not updated by @apply
train.state @w "parameter" : tensor<4xf32> {delay = 1 : i64}
func.func @micro(%w: tensor<4xf32> {train.state = @w}) {
  return
}
func.func @apply() {
  return
}

// -----

// CHECK: error: 'w' is written by each micro-batch
train.state @w "parameter" : tensor<4xf32> {delay = 1 : i64}
func.func @micro(%w: tensor<4xf32> {train.state = @w}) -> (tensor<4xf32> {train.state = @w}) {
  return %w : tensor<4xf32>
}
func.func @apply() {
  return
}
