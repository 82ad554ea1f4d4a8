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
    multiples of 16. Notes on the module say which.

    ```mlir
    %y = train.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> ...
    // becomes
    %y = train.matmul %x, %w {train.float8 = [f8E4M3FN, f8E4M3FN]} : ...
    ```
  }];
  let options = [
    Option<"exclude", "exclude", "std::string", "\"\"",
           "a regular expression: weights whose products stay in bfloat16">
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

    ```mlir
    %y = train.matmul %x, %w {train.float8 = [f8E4M3FN, f8E4M3FN]} : ...
    // becomes
    %0 = train.amax %x dims [1] : (tensor<16x32xbf16>) -> tensor<16xf32>
    %1 = train.amax %0 dims [0] : (tensor<16xf32>) -> tensor<f32>
    ... // %2 = 448 / max(%1, 1e-12), %3 = 1 / %2, %4 = %x %2
    %5 = train.convert %4 : (tensor<16x32xf32>) -> tensor<16x32xf8E4M3FN>
    %y = train.scaled_matmul %5, %w8, %3, %ws : ... -> tensor<16x16xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numRounded", "num-rounded", "Tensors rounded to 8 bits">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PRECISION_FLOAT8PASSES_TD
