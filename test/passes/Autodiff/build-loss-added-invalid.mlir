// RUN: not zc-opt %s --zc-build-loss="loss=mse added-losses=balance" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not zc-opt %s --zc-build-loss="loss=mse added-losses=balance=much" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not zc-opt %s --zc-build-loss="loss=mse added-losses=missing=0.5" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not zc-opt %s --zc-build-loss="loss=mse added-losses=chosen=0.5" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not zc-opt %s --zc-build-loss="loss=none logits=balance added-losses=z=1,missing=2" 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: not zc-opt %s --zc-build-loss="loss=absent" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not zc-opt %s --zc-build-loss="loss=mse logits=missing" 2>&1 | FileCheck %s --check-prefix=LOGITS

// FORM: error: expected OUTPUT=WEIGHT for an added loss, found 'balance'
// NUMBER: error: expected OUTPUT=WEIGHT for an added loss, found 'balance=much'
// MISSING: error: no output named 'missing' to add to the loss; the model has 'y', 'balance', 'z', 'chosen'
// TYPE: error: output 'chosen' of type 'tensor<8xi64>' cannot be added to the loss; expected floating-point numbers
// SECOND: error: no output named 'missing' to add to the loss
// KIND: error: unknown loss 'absent'; expected softmax-cross-entropy, mse, l1, huber, bce-with-logits or none
// LOGITS: error: no output named 'missing' for the loss; the model has 'y', 'balance', 'z', 'chosen'
func.func @forward(%x: tensor<8x4xf32> {train.input = "x"},
                   %b: tensor<f32> {train.input = "b"},
                   %z: tensor<f32> {train.input = "c"},
                   %i: tensor<8xi64> {train.input = "i"})
    -> (tensor<8x4xf32> {train.output = "y"}, tensor<f32> {train.output = "balance"},
        tensor<f32> {train.output = "z"}, tensor<8xi64> {train.output = "chosen"}) {
  return %x, %b, %z, %i : tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<8xi64>
}
