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
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"keepsCopies", "keeps-copies", "bool", "true",
           "parameters have copies in 16 bits; else they are rounded where the "
           "step reads them, in the backward once more">,
    Option<"lossScale", "loss-scale", "double", "0.0",
           "with fp16, what the loss is scaled by; 0: the scale adapts">
  ];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "Ops that compute with 16 bits">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def AddMastersPass : Pass<"zc-add-masters", "::mlir::ModuleOp"> {
  let summary = "keep parameters that the model stores in 16 bits as float32";
  let description = [{
    Requires `@step` before its backward is built. A parameter of f16 or bf16
    becomes one of float32, which the optimizer updates and checkpoints hold; the
    step reads a copy in the model's type, other programs round the parameter.
    Its bytes in the model's files stay what they are: `source.type` says so.
    With parameters of f16 the loss is scaled.

    ```mlir
    train.state @w "parameter" : tensor<8x4xbf16> {source = {file = "m.onnx", ...}}
    func.func @step(%w: tensor<8x4xbf16> {train.state = @w})
    // becomes
    train.state @w "parameter" : tensor<8x4xf32> {source = {..., type = bf16}}
    train.state @w.bf16 "copy" : tensor<8x4xbf16> {parameter = "w"}
    func.func @step(%w: tensor<8x4xbf16> {train.state = @w.bf16})
    ```
  }];
  let options = [
    Option<"lossScale", "loss-scale", "double", "0.0",
           "with parameters of f16, what the loss is scaled by; 0: the scale "
           "adapts">,
    Option<"keepsCopies", "keeps-copies", "bool", "true",
           "parameters of 16 bits stay as copies of their masters; else masters "
           "are rounded where the step reads them">
  ];
  let statistics = [
    Statistic<"numMasters", "num-masters", "Parameters kept as float32">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def WidenSumsPass : Pass<"zc-widen-sums", "::mlir::func::FuncOp"> {
  let summary = "results that need more digits are of float32";
  let description = [{
    In a model of f16 or bf16: sums, means and other statistics of operands of 16
    bits, and all that wants range or digits (`PrecisionOpInterface`), are computed
    as float32 and then rounded to what the model says. A sum kept in bfloat16
    stops to grow at 256 times its terms.

    ```mlir
    %y = train.reduce "sum" %x dims [1] : (tensor<4x512xbf16>) -> tensor<4xbf16>
    // becomes
    %0 = train.reduce "sum" %x dims [1] : (tensor<4x512xbf16>) -> tensor<4xf32>
    %y = train.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numWidened", "num-widened", "Results computed as float32">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PRECISION_PASSES_TD
