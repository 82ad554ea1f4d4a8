//===- TrainDialect.td ----------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_TRAINDIALECT_TD
#define ZC_DIALECTS_TRAIN_TRAINDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "dialects/Interfaces/MarkedDialect.td"
include "dialects/Interfaces/OpInterfaces.td"

def Train_Dialect : MarkedDialect {
  let name = "train";
  let cppNamespace = "::zc::train";
  let summary = "a small tensor algebra for training";
  let description = [{
    Everything a training step computes, on tensors of static shape: the model,
    its loss, its gradient and the optimizer. Operands are never broadcast or
    converted implicitly. One op, one room: its TableGen definition, and one
    source file with its gradient, sharding rule, cost and linalg form.

    A *program* is a `func.func` whose arguments and results carry, as
    discardable attributes, what they are bound to:

    | attribute | on | meaning |
    | --- | --- | --- |
    | `train.state = @name` | argument, result | a `train.state`; a result is its new value |
    | `train.input = "x"` | argument | an array of the data file |
    | `train.batch_dim = 0 : i64` | argument, result | the dim that counts samples; absent: none |
    | `train.range = array<i64: min, max>` or `<min, max, ignored>` | argument | values the host accepts: [min, max), and `ignored` |
    | `train.label` | argument | this input is the loss's labels |
    | `train.sample_weight` | argument | 1 for samples, 0 for padding |
    | `train.output = "logits"` | result | a model output |
    | `train.metric = "loss"` | result | a scalar the host reads |
    | `train.gradient = @name` | result | between backward and optimizer: the gradient of a state |
  }];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = marks;
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::affine::AffineDialect"];
}

def Train_Tensor : StaticShapeTensorOf<[F32, F64, F16, BF16, F8E4M3FN, F8E5M2,
                                        I1, I8, I16, I32, I64, UI8, UI16, UI32,
                                        UI64]>;
def Train_FloatTensor : StaticShapeTensorOf<[F32, F64, F16, BF16]>;
def Train_BoolTensor : StaticShapeTensorOf<[I1]>;
def Train_IntTensor : StaticShapeTensorOf<[I8, I16, I32, I64]>;

class Train_Op<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, traits>;

// A pure op on tensors that knows its sharding rule, cost and linalg form.
// `linalgOverrides`, `shardOverrides`: the methods of the linalg form and of the
// sharding rule with a default that it replaces.
class Train_TensorOp<string mnemonic, list<Trait> traits = [],
                     list<string> linalgOverrides = [],
                     list<string> shardOverrides = []>
    : Train_Op<mnemonic, !listconcat(
          [Pure, DeclareOpInterfaceMethods<ShardableOpInterface, shardOverrides>,
           DeclareOpInterfaceMethods<CostOpInterface>,
           DeclareOpInterfaceMethods<LinalgFormOpInterface, linalgOverrides>],
          traits)> {
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

def Train_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

class Train_Precision<list<string> methods>
    : DeclareOpInterfaceMethods<PrecisionOpInterface, methods>;

def Train_Images : DeclareOpInterfaceMethods<ImageOpInterface>;

// ImageOpInterface: which operands and results are images ("0, 1"), whether the
// channels are last and how to make them so.
class Train_ImageMethods<string operands, string results, string isLast,
                         string moveLast> {
  code definition = [{
    ::llvm::SmallVector<unsigned> $cppClass::getImageOperands() {
      return {}] # operands # [{};
    }
    ::llvm::SmallVector<unsigned> $cppClass::getImageResults() {
      return {}] # results # [{};
    }
    bool $cppClass::hasChannelsLast() { return }] # isLast # [{; }
    void $cppClass::moveChannelsLast() { }] # moveLast # [{; }
  }];
}

class Train_ChannelsLastAttr<string operands, string results>
    : Train_ImageMethods<operands, results, "getChannelsLast()",
                         "setChannelsLast(true)">;

class Train_ChannelDimAttr<string operands, string results>
    : Train_ImageMethods<operands, results, "getChannelDim() != 1",
          "setChannelDim(::llvm::cast<::mlir::ShapedType>("
          "getInput().getType()).getRank() - 1)">;

#endif // ZC_DIALECTS_TRAIN_TRAINDIALECT_TD
