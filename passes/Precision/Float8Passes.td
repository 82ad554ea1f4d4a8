//===- Float8Passes.td - what is multiplied in 8 bits ---------------------===//
#ifndef ZC_PASSES_PRECISION_FLOAT8PASSES_TD
#define ZC_PASSES_PRECISION_FLOAT8PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyFloat8Pass : Pass<"zc-apply-float8", "::mlir::ModuleOp"> {
  let summary = "choose the products whose factors are rounded to 8 bits";
  let description = [{
    Requires `@step` in bfloat16, before its backward is built. Products of values
    with a weight are marked: their factors become E4M3 where --zc-round-float8
    runs, and gradients E5M2. The last ones before the loss stay as they are, and
    those that libraries for 8 bits do not have: all of M, K and N must be
    multiples of 16, or of 128 where scales are of blocks; ranks have whole blocks,
    so there rows are multiples of 128 for each rank, and so are the parts of
    weights that are divided. Notes on the module say which. Where `exclude` names
    no weight of such a product, an error lists them.

    ```mlir
    %y = train.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> ...
    // becomes
    %y = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN, "w"]} : ...
    ```
  }];
  let options = [
    Option<"exclude", "exclude", "std::string", "\"\"",
           "a regular expression: weights whose products stay in bfloat16">,
    Option<"mayMiss", "may-miss", "bool", "false",
           "`exclude` may name none: the module is a part of the model">,
    Option<"divisor", "divisor", "int64_t", "16",
           "what M, K and N must be multiples of">,
    Option<"rowDivisor", "row-divisor", "int64_t", "0",
           "what rows of values must be multiples of; 0: the same">,
    Option<"dividesParts", "divides-parts", "bool", "false",
           "parts of weights must be multiples of it, too">
  ];
  let statistics = [
    Statistic<"numMarked", "num-marked", "Products of 8-bit floats">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def RoundFloat8Pass : Pass<"zc-round-float8", "::mlir::ModuleOp"> {
  let summary = "round the factors of marked products to 8 bits";
  let description = [{
    Requires `@step` with its backward. A factor is scaled by 448 (E4M3) or 57344
    (E5M2) over its largest magnitude, rounded to nearest, and multiplied as such;
    the product is scaled back. Each tensor is rounded once for all products that
    read it, but for weights, which the backward rounds again: nothing of them is
    kept. A largest magnitude below 1e-12 counts as that.

    `delayed`: the largest magnitude is that of `history` steps before, which are
    states of kind optimizer, `state.NAME.fp8_amax_input` (`_weight`, `_gradient`),
    and saved with the others. Before the first step the scale is 1. Element 0 is
    the largest of the micro-batches of the step that runs, and counts from the
    next one on (--zc-roll-amax). Magnitudes are written to it behind the forward
    and behind the backward, all at once: ranks send those of a forward in one
    message for each set of axes that divide what is measured
    (--zc-join-reductions).

    `block`: values and gradients have a scale for every 128 elements along the
    sum, weights for every 128 x 128; scales are the powers of two below, and
    gradients are of E4M3 too. A tensor that is summed over in two products is
    rounded in both ways.

    ```mlir
    %y = train.matmul %x, %w {float8 = [f8E4M3FN, f8E4M3FN]} : ...
    // becomes
    %0 = train.amax %x dims [1] : (tensor<16x32xbf16>) -> tensor<16xf32>
    %1 = train.amax %0 dims [0] : (tensor<16xf32>) -> tensor<f32>
    ... // %2 = 448 / max(%1, 1e-12), %3 = 1 / %2, %4 = %x %2
    %5 = train.convert %4 : (tensor<16x32xf32>) -> tensor<16x32xf8E4M3FN>
    %y = train.scaled_matmul %5, %w8, %3, %ws : ... -> tensor<16x16xbf16>
    ```
  }];
  let options = [
    Option<"scaling", "scaling", "std::string", "\"current\"",
           "what scales are of: current, delayed or block">,
    Option<"history", "history", "int64_t", "1024",
           "with delayed, the steps whose largest magnitudes count">
  ];
  let statistics = [
    Statistic<"numRounded", "num-rounded", "Tensors rounded to 8 bits">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def RollAmaxPass : Pass<"zc-roll-amax", "::mlir::ModuleOp"> {
  let summary = "end a step in the histories of largest magnitudes";
  let description = [{
    Requires what --zc-round-float8 made, in `@step`, or behind
    --zc-accumulate-gradients: then `@apply` ends the step. Element i of a history
    becomes element i + 1, and element 0 is 0 for the next step.
  }];
  let statistics = [
    Statistic<"numRolled", "num-rolled", "Histories">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PRECISION_FLOAT8PASSES_TD
