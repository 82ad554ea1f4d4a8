// One phase behind another is all of them.
// RUN: zc-opt %s --zc-all-phases="--loss mse --mesh dp=2" -o %t.all
// RUN: zc-opt %s --zc-phase-train="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-step="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-roles="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-programs="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-sharded="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-fused="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-sched="--loss mse --mesh dp=2" \
// RUN:   | zc-opt --zc-phase-llvm="--loss mse --mesh dp=2" -o %t.each
// RUN: diff %t.all %t.each
// RUN: FileCheck %s --check-prefix=CODE < %t.all

// Options are those of the command line, which says what is wrong with them.
// RUN: not zc-opt %s --zc-phase-step="--optimizer nonesuch" 2>&1 | FileCheck %s --check-prefix=WRONG

// CODE: llvm.func
// WRONG: --optimizer

onnx.graph @main(%x: tensor<8x3xf32>) -> (tensor<8x4xf32>)
    attributes {input_names = ["x"], output_names = ["logits"],
                batch_dims = array<i64: 0>, output_batch_dims = array<i64: 0>,
                opset_imports = {"ai.onnx" = 20 : i64}} {
  %w = onnx.initializer @"fc.weight" {trained = true, source = #onnx.external<"m.data", 64, 48>} : tensor<4x3xf32>
  %b = onnx.initializer @"fc.bias" {trained = true, value = dense<0.0> : tensor<4xf32>} : tensor<4xf32>
  %y = onnx.node "Gemm"(%x, %w, %b) {since_version = 13 : i64, node_attributes = {transB = 1 : i64}}
    : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  onnx.return %y : tensor<8x4xf32>
}
