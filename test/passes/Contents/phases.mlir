// The order in which zc's passes run. A pass that moves, or is added, changes a
// line here.
// RUN: zc-opt %s --zc-all-phases="--loss mse" --dump-pass-pipeline -o /dev/null 2>&1 | sed -e 's/{[^{}]*}//g' -e 's/{[^{}]*}//g' -e 's/[ ,]//g' | grep -e '^zc-' | FileCheck %s --check-prefix=ONE
// RUN: zc-opt %s --zc-all-phases="--loss mse --precision bf16 --mesh dp=2 --zero 2 --accumulate 2" --dump-pass-pipeline -o /dev/null 2>&1 | sed -e 's/{[^{}]*}//g' -e 's/{[^{}]*}//g' -e 's/[ ,]//g' | grep -e '^zc-' | FileCheck %s --check-prefix=RANKS

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

// ONE: {{^}}zc-convert-onnx-to-train{{$}}
// ONE-NEXT: {{^}}zc-recognize-attention{{$}}
// ONE-NEXT: {{^}}zc-recognize-experts{{$}}
// ONE-NEXT: {{^}}zc-order-rows{{$}}
// ONE-NEXT: {{^}}zc-widen-sums{{$}}
// ONE-NEXT: {{^}}zc-annotate-target{{$}}
// ONE-NEXT: {{^}}zc-dispatch-experts{{$}}
// ONE-NEXT: {{^}}zc-build-loss{{$}}
// ONE-NEXT: {{^}}zc-add-masters{{$}}
// ONE-NEXT: {{^}}zc-widen-sums{{$}}
// ONE-NEXT: {{^}}zc-build-backward{{$}}
// ONE-NEXT: {{^}}zc-build-optimizer-step{{$}}
// ONE-NEXT: {{^}}zc-build-init{{$}}
// ONE-NEXT: {{^}}zc-accumulate-in-place{{$}}
// ONE-NEXT: {{^}}zc-chunk-cross-entropy{{$}}
// ONE-NEXT: {{^}}zc-assign-layouts{{$}}
// ONE-NEXT: {{^}}zc-join-calls{{$}}
// ONE-NEXT: {{^}}zc-split-batch-norm{{$}}
// ONE-NEXT: {{^}}zc-keep-pool-places{{$}}
// ONE-NEXT: {{^}}zc-widen-products{{$}}
// ONE-NEXT: {{^}}zc-pad-heads{{$}}
// ONE-NEXT: {{^}}zc-form-regions{{$}}
// ONE-NEXT: {{^}}zc-compute-slices{{$}}
// ONE-NEXT: {{^}}zc-fold-row-sums{{$}}
// ONE-NEXT: {{^}}zc-compact-table-gradients{{$}}
// ONE-NEXT: {{^}}zc-select-library-calls{{$}}
// ONE-NEXT: {{^}}zc-match-epilogues{{$}}
// ONE-NEXT: {{^}}zc-hoist-gathers{{$}}
// ONE-NEXT: {{^}}zc-recompute{{$}}
// ONE-NEXT: {{^}}zc-order-instructions{{$}}
// ONE-NEXT: {{^}}zc-overlap-collectives{{$}}
// ONE-NEXT: {{^}}zc-convert-to-sched{{$}}
// ONE-NEXT: {{^}}zc-keep-busy-states{{$}}
// ONE-NEXT: {{^}}zc-join-launches{{$}}
// ONE-NEXT: {{^}}zc-host-updates{{$}}
// ONE-NEXT: {{^}}zc-offload{{$}}
// ONE-NEXT: {{^}}zc-assign-offsets{{$}}
// ONE-NEXT: {{^}}zc-verify-offsets{{$}}
// ONE-NEXT: {{^}}zc-lower-kernels{{$}}
// ONE-NEXT: {{^}}zc-cascade-sums{{$}}
// ONE-NEXT: {{^}}zc-copy-rows{{$}}
// ONE-NEXT: {{^}}zc-approximate-math{{$}}
// ONE-NEXT: {{^}}zc-share-code{{$}}
// ONE-NEXT: {{^}}zc-add-entry-points{{$}}

// RANKS: {{^}}zc-convert-onnx-to-train{{$}}
// RANKS-NEXT: {{^}}zc-recognize-attention{{$}}
// RANKS-NEXT: {{^}}zc-recognize-experts{{$}}
// RANKS-NEXT: {{^}}zc-order-rows{{$}}
// RANKS-NEXT: {{^}}zc-widen-sums{{$}}
// RANKS-NEXT: {{^}}zc-annotate-target{{$}}
// RANKS-NEXT: {{^}}zc-dispatch-experts{{$}}
// RANKS-NEXT: {{^}}zc-build-loss{{$}}
// RANKS-NEXT: {{^}}zc-add-masters{{$}}
// RANKS-NEXT: {{^}}zc-apply-precision{{$}}
// RANKS-NEXT: {{^}}zc-widen-sums{{$}}
// RANKS-NEXT: {{^}}zc-build-backward{{$}}
// RANKS-NEXT: {{^}}zc-annotate-mesh{{$}}
// RANKS-NEXT: {{^}}zc-apply-zero{{$}}
// RANKS-NEXT: {{^}}zc-accumulate-gradients{{$}}
// RANKS-NEXT: {{^}}zc-build-optimizer-step{{$}}
// RANKS-NEXT: {{^}}zc-build-init{{$}}
// RANKS-NEXT: {{^}}zc-annotate-mesh{{$}}
// RANKS-NEXT: {{^}}zc-place-experts{{$}}
// RANKS-NEXT: {{^}}zc-propagate-sharding{{$}}
// RANKS-NEXT: {{^}}zc-insert-collectives{{$}}
// RANKS-NEXT: {{^}}zc-fold-collectives{{$}}
// RANKS-NEXT: {{^}}zc-verify-sharding{{$}}
// RANKS-NEXT: {{^}}zc-explain-sharding{{$}}
// RANKS-NEXT: {{^}}zc-localize{{$}}
// RANKS-NEXT: {{^}}zc-broadcast-parts{{$}}
// RANKS-NEXT: {{^}}zc-join-reductions{{$}}
// RANKS-NEXT: {{^}}zc-cut-reductions{{$}}
// RANKS-NEXT: {{^}}zc-accumulate-in-place{{$}}
// RANKS-NEXT: {{^}}zc-chunk-cross-entropy{{$}}
// RANKS-NEXT: {{^}}zc-assign-layouts{{$}}
// RANKS-NEXT: {{^}}zc-join-calls{{$}}
// RANKS-NEXT: {{^}}zc-split-batch-norm{{$}}
// RANKS-NEXT: {{^}}zc-keep-pool-places{{$}}
// RANKS-NEXT: {{^}}zc-widen-products{{$}}
// RANKS-NEXT: {{^}}zc-pad-heads{{$}}
// RANKS-NEXT: {{^}}zc-form-regions{{$}}
// RANKS-NEXT: {{^}}zc-compute-slices{{$}}
// RANKS-NEXT: {{^}}zc-fold-row-sums{{$}}
// RANKS-NEXT: {{^}}zc-compact-table-gradients{{$}}
// RANKS-NEXT: {{^}}zc-select-library-calls{{$}}
// RANKS-NEXT: {{^}}zc-match-epilogues{{$}}
// RANKS-NEXT: {{^}}zc-hoist-gathers{{$}}
// RANKS-NEXT: {{^}}zc-recompute{{$}}
// RANKS-NEXT: {{^}}zc-order-instructions{{$}}
// RANKS-NEXT: {{^}}zc-overlap-collectives{{$}}
// RANKS-NEXT: {{^}}zc-convert-to-sched{{$}}
// RANKS-NEXT: {{^}}zc-keep-busy-states{{$}}
// RANKS-NEXT: {{^}}zc-join-launches{{$}}
// RANKS-NEXT: {{^}}zc-host-updates{{$}}
// RANKS-NEXT: {{^}}zc-offload{{$}}
// RANKS-NEXT: {{^}}zc-assign-offsets{{$}}
// RANKS-NEXT: {{^}}zc-verify-offsets{{$}}
// RANKS-NEXT: {{^}}zc-lower-kernels{{$}}
// RANKS-NEXT: {{^}}zc-cascade-sums{{$}}
// RANKS-NEXT: {{^}}zc-copy-rows{{$}}
// RANKS-NEXT: {{^}}zc-approximate-math{{$}}
// RANKS-NEXT: {{^}}zc-share-code{{$}}
// RANKS-NEXT: {{^}}zc-add-entry-points{{$}}

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
