//===- Passes.td - evidence that a division changes nothing ---------------===//
#ifndef ZC_PASSES_PROOF_PASSES_TD
#define ZC_PASSES_PROOF_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShrinkDimsPass : Pass<"zc-shrink-dims", "::mlir::ModuleOp"> {
  let summary = "the same program on few samples, tokens, heads and features";
  let description = [{
    In a module with `@forward`, dims that must have one size, by the ops' sharding
    rules, get the least size of at least 3 that the `divisors` divide as they did
    before, those that count samples of those that the `batch-divisors` do, too. The features of several heads, or of q, k and v side by side, are
    products, whose parts shrink each by itself. A dim keeps its size where an
    attribute or data depends on it: windows of convolutions, tables whose indices
    the program computes. States lose their values, but for constants, of which a
    block stays.

    The interpreter runs such a program in milliseconds: `zc compile` compares a
    divided program with the whole one on it.

    ```mlir
    %0 = train.reshape %x : (tensor<16x128x768xf32>) -> tensor<16x128x12x64xf32>
    // becomes, with divisors = 2,4
    %0 = train.reshape %x : (tensor<4x8x8xf32>) -> tensor<4x8x4x2xf32>
    ```
  }];
  let options = [
    ListOption<"divisors", "divisors", "int64_t",
               "a dim that one divides is one that it divides afterwards">,
    ListOption<"batchDivisors", "batch-divisors", "int64_t",
               "the same of the dims that count samples">
  ];
  let statistics = [
    Statistic<"numElements", "num-elements", "Elements of all values left">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PROOF_PASSES_TD
