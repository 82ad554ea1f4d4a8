#ifndef ZC_DIALECTS_ONNX_ONNXOPS_TD
#define ZC_DIALECTS_ONNX_ONNXOPS_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Onnx/OnnxAttrs.td"

def Onnx_Tensor : StaticShapeTensorOf<[AnyType]>;
def Onnx_Value : AnyTypeOf<[Onnx_Tensor, NoneType]>;

class Onnx_Op<string mnemonic, list<Trait> traits = []>
    : Op<Onnx_Dialect, mnemonic, traits>;

def Onnx_GraphOp : Onnx_Op<"graph",
    [IsolatedFromAbove, Symbol, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A model: its inputs, nodes and outputs";
  let description = [{
    One block in SSA order; its arguments are the graph's inputs (initializers
    are not among them, also when the file lists them as inputs).

    - `opset_imports`: domain to version, e.g. `{"" = 20 : i64}`.
    - `batch_dims`: per input the dim that counts samples, -1 for none.
    - `output_batch_dims`: likewise per output.

    ```mlir
    onnx.graph @main(%x: tensor<32x64xf32>) -> (tensor<32x10xf32>)
        attributes {input_names = ["x"], output_names = ["logits"],
                    opset_imports = {"" = 20 : i64}} {
      ...
      onnx.return %y : tensor<32x10xf32>
    }
    ```

    (C1) `input_names` has one unique name per block argument.
    (C2) `output_names` has one name per result, and `onnx.return` returns
    values of the result types.
    (C3) `batch_dims` has one entry per input, each -1 or a dim of that input;
    `output_batch_dims` likewise for outputs.
    (C4) initializers have unique names.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeArrayAttr:$result_types,
                       StrArrayAttr:$input_names, StrArrayAttr:$output_names,
                       DictionaryAttr:$opset_imports,
                       OptionalAttr<DenseI64ArrayAttr>:$batch_dims,
                       OptionalAttr<DenseI64ArrayAttr>:$output_batch_dims);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The terminator; its operands are the model's outputs.
    ReturnOp getReturn();
    ::llvm::StringRef getInputName(unsigned index);
    ::llvm::StringRef getOutputName(unsigned index);
  }];
}

def Onnx_ReturnOp : Onnx_Op<"return",
    [Terminator, Pure, HasParent<"GraphOp">]> {
  let summary = "The graph's outputs";
  let arguments = (ins Variadic<Onnx_Tensor>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
}

def Onnx_NodeOp : Onnx_Op<"node", [HasParent<"GraphOp">]> {
  let summary = "Any operator of any domain";
  let description = [{
    ```mlir
    %1 = onnx.node "Gemm"(%x, %w, %b)
        {since_version = 13 : i64, node_attributes = {transB = 1 : i64}}
        : (tensor<32x64xf32>, tensor<10x64xf32>, tensor<10xf32>)
        -> tensor<32x10xf32>
    ```

    `since_version` is the opset version that introduced the operator's present
    meaning, so a lowering names the meanings it implements. An absent optional
    operand is the value of `onnx.none`; an absent optional result in the middle
    has type `none`; trailing absent ones are left out.

    Attributes: INT is `i64`, FLOAT `f32`, STRING a string, INTS
    `array<i64: ...>`, FLOATS `array<f32: ...>`, STRINGS an array of strings,
    TENSOR a dense tensor.

    (C1) there are no attributes besides the declared ones, so that a misspelled
    one is not silently lost.
  }];
  let arguments = (ins StrAttr:$op_type, Variadic<Onnx_Value>:$inputs,
                       DefaultValuedStrAttr<StrAttr, "">:$domain,
                       I64Attr:$since_version,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$node_attributes);
  let results = (outs Variadic<Onnx_Value>:$outputs);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $op_type `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    /// Whether operand `index` is there (an optional one may not be).
    bool hasInput(unsigned index);
    /// Operand `index`, or null when it is absent.
    ::mlir::Value getOptionalInput(unsigned index);
    /// Whether result `index` is there and has a use.
    bool isOutputUsed(unsigned index);

    /// The ONNX attribute `name`, or the default when the node lacks it.
    int64_t getInt(::llvm::StringRef name, int64_t absent);
    double getFloat(::llvm::StringRef name, double absent);
    ::llvm::StringRef getString(::llvm::StringRef name,
                                ::llvm::StringRef absent);
    ::std::optional<::llvm::ArrayRef<int64_t>> getInts(::llvm::StringRef name);
    ::mlir::DenseElementsAttr getTensor(::llvm::StringRef name);
    bool hasAttribute(::llvm::StringRef name);
  }];
}

def Onnx_InitializerOp : Onnx_Op<"initializer", [Pure, HasParent<"GraphOp">]> {
  let summary = "A tensor that the file stores: a parameter or a constant";
  let description = [{
    ```mlir
    %w = onnx.initializer @"fc1.weight"
        {source = #onnx.external<"mlp.onnx.data", 0, 16384>,
         kind = "PARAMETER", trained = true} : tensor<64x64xf32>
    ```

    - `value`: the elements, when they are few or were folded; else `source`.
      Neither: the data is absent and something must initialise the tensor.
    - `kind`: what PyTorch's exporter says it is (PARAMETER, BUFFER,
      CONSTANT_TENSOR, ...), absent when the file does not say.
    - `trained`: whether the user wants it trained; true only for
      floating-point tensors.
    - `aliases`: further initializers of the file that are this one tensor
      (tied weights).
    - `draw`: how something initialises it, as `train.state` says it.

    (C1) at most one of `value`, `source` and `draw`; `value` has the result's type;
    `source` has exactly its bytes.
    (C2) `trained` needs a floating-point element type.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<ElementsAttr>:$value,
                       OptionalAttr<Onnx_ExternalAttr>:$source,
                       OptionalAttr<StrAttr>:$kind, UnitAttr:$folded,
                       DefaultValuedAttr<BoolAttr, "false">:$trained,
                       OptionalAttr<StrArrayAttr>:$aliases,
                       OptionalAttr<DictionaryAttr>:$draw);
  let results = (outs Onnx_Tensor:$result);
  let assemblyFormat = [{
    custom<InitializerName>($name) attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Onnx_NoneOp : Onnx_Op<"none", [Pure]> {
  let summary = "The value of an absent optional operand";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif
