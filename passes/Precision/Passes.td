//===- Passes.td - what is stored in 16 bits ------------------------------===//
#ifndef ZC_PASSES_PRECISION_PASSES_TD
#define ZC_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPrecisionPass : Pass<"zc-apply-precision", "::mlir::ModuleOp"> {
  let summary = "store the forward of a step in 16 bits";
  let description = [{
    Requires `@step` before its backward is built: gradients then have the types of
    what they are gradients of. Every float32 parameter gets a copy in `type`,
    a state of kind copy, which the step reads in its place; the parameter is what
    the optimizer updates and what files hold. Values follow by what each op
    wants of its operands (`PrecisionOpInterface`): products are of 16 bits, what
    needs range or digits of float32, the rest as its operands. `@eval` is left in
    float32.

    ```mlir
    train.state @w "parameter" : tensor<8x4xf32>
    func.func @step(%x: tensor<2x8xf32> ..., %w: tensor<8x4xf32> {train.state = @w})
    %y = train.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    // becomes, with type = bf16
    train.state @w.bf16 "copy" : tensor<8x4xbf16> {parameter = "w"}
    func.func @step(%x: ..., %w: tensor<8x4xbf16> {train.state = @w.bf16})
    %0 = train.convert %x : (tensor<2x8xf32>) -> tensor<2x8xbf16>
    %y = train.matmul %0, %w : (tensor<2x8xbf16>, ...) -> tensor<2x4xbf16>
    ```
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">
  ];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "Ops that compute with 16 bits">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PRECISION_PASSES_TD
