//===- Passes.td - from an ONNX model to the forward program --------------===//
#ifndef ZC_PASSES_IMPORT_PASSES_TD
#define ZC_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertOnnxToTrainPass : Pass<"zc-convert-onnx-to-train", "::mlir::ModuleOp"> {
  let summary = "Lower the model to the program @forward on train tensors";
  let description = [{
    Requires one `onnx.graph` as the importer leaves it: static types, folded
    shape arithmetic. Each node is lowered by the function that the registry
    (Lowering/LoweringRegistry.h) holds for its domain, operator and
    since-version; all operators without one are reported together. Implicit
    broadcasting becomes `train.broadcast`. Initializers become `train.state`s, or
    `train.constant`s where they are small; those that only say axes or shapes
    vanish. Every op keeps its node's location.

    ```mlir
    onnx.graph @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>)
        attributes {input_names = ["x"], output_names = ["y"], batch_dims = array<i64: 0>,
                    opset_imports = {"ai.onnx" = 20 : i64}} {
      %b = onnx.initializer @bias {trained = true} : tensor<3xf32>
      %0 = onnx.node "Add"(%x, %b) {since_version = 14 : i64}
         : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      onnx.return %0 : tensor<2x3xf32>
    }
    ```
    becomes
    ```mlir
    train.state @bias "parameter" : tensor<3xf32>
    func.func @forward(%bias: tensor<3xf32> {train.state = @bias},
                       %x: tensor<2x3xf32> {train.batch_dim = 0 : i64, train.input = "x"})
        -> (tensor<2x3xf32> {train.output = "y"}) {
      %0 = train.broadcast %bias {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
      %1 = train.add %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
    ```

    Loss, gradient and optimizer are passes/Autodiff's.
  }];
  let options = [
    Option<"frozenBatchNorm", "frozen-batchnorm", "bool", "false",
           "Normalise with the running statistics in training too">,
    Option<"dropout", "dropout", "bool", "true",
           "Keep the dropout that the graph asks for in training">,
  ];
  let statistics = [
    Statistic<"numNodes", "num-nodes", "ONNX nodes lowered">,
    Statistic<"numStates", "num-states", "states made from initializers">,
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::mlir::func::FuncDialect"];
}

def RecognizeAttentionPass : Pass<"zc-recognize-attention", "::mlir::ModuleOp"> {
  let summary = "softmax(scale q k^T [+ causal mask]) v as train.attention";
  let description = [{
    Whatever tensor is scaled by a constant, q, k or the scores. The mask is known
    by its elements: 0 up to the diagonal, at most -1e30 beyond. Attention with
    another mask, or whose probabilities are used elsewhere, stays as it is.

    ```mlir
    %0 = train.matmul %q, %k {transpose_rhs} : (tensor<4x12x256x64xf32>, ...)
    %1 = train.add %0, %mask : ...
    %2 = train.softmax %1 {dim = 3 : i64} : ...
    %3 = train.matmul %2, %v : ...
    // becomes
    %3, %sums = train.attention %q, %k, %v {causal, scale = 1.0 : f64}
    ```
    with transposes to [batch, tokens, heads, width] around it.
  }];
  let statistics = [
    Statistic<"numRecognized", "num-recognized", "Attentions found">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def RecognizeExpertsPass : Pass<"zc-recognize-experts", "::mlir::ModuleOp"> {
  let summary = "products with matrices looked up by row as train.grouped_matmul";
  let description = [{
    Exporters write experts that a router chose as a table of matrices, of which
    each row looks up its own: [rows, K, N] weights that never should exist.

    ```mlir
    %0 = train.gather %weights, %chosen {dim = 0 : i64}
       : (tensor<8x64x32xf32>, tensor<128xi64>) -> tensor<128x64x32xf32>
    %1 = train.matmul %0, %x : (..., tensor<128x32x1xf32>) -> tensor<128x64x1xf32>
    // becomes
    %ids = train.iota ... : tensor<8xi64>
    %1 = train.grouped_matmul %x, %weights, %chosen, %ids
           {experts = 8 : i64, transpose_weights}
    ```
    with reshapes around it, and what counts indices from the end. A table that is
    no parameter, or is transposed before it is looked up, does as well.

    Sums over all experts of what each gives for all tokens, times a mask of the
    tokens that chose it, are of the chosen rows first:
    ```mlir
    %gate = sum over choices of %weights * (%chosen == e)
    %y = sum over e of %gate * f_e(%x)
    ```
    where all f_e are alike and each token's is its own. Their matrices are
    concatenated. So are products of gates [tokens, 1, E], which a scatter made of
    a TopK's choices, with what all experts give at once, [tokens, E, features].

    GShard's einsums bring rows to rooms and back by products with masks [groups,
    tokens, E, places]; where these give each token the next free place of the
    experts that it chose, the products are left out, and those of the experts
    say what room the file has (`room_groups`, `room_capacity`).
  }];
  let statistics = [
    Statistic<"numRecognized", "num-recognized", "Products found">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_IMPORT_PASSES_TD
