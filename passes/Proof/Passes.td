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
    products, whose parts shrink each by itself. Images get the least sizes on
    which every window of the program has two places. A dim keeps its size where an
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

def DropEqualBlocksPass : Pass<"zc-drop-equal-blocks", "::mlir::ModuleOp"> {
  let summary = "the same program with few of its layers that are alike";
  let description = [{
    In a module with `@forward`, finds blocks of the same ops one behind the other,
    each of which reads of the one before what that reads of its predecessor, with
    states of its own of the same types, kinds and `divisions`. All but the first
    `keep` are left out, with their states; what read the last one reads the last
    that stays.

    Passes that divide a program do the same with equal layers, so `zc compile`
    compares a divided program with the whole one on the layers that are left.

    ```mlir
    %1 = train.matmul %0, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %2 = train.matmul %1, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %3 = train.exp %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    // becomes, with keep = 1
    %1 = train.matmul %0, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %3 = train.exp %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"keep", "keep", "int64_t", /*default=*/"3", "blocks that stay">,
    ListOption<"divisions", "divisions", "std::string",
               "NAME=TEXT of states: those of different texts are not alike">
  ];
  let statistics = [
    Statistic<"numBlocks", "num-blocks", "Blocks left out">
  ];
}

#endif // ZC_PASSES_PROOF_PASSES_TD
