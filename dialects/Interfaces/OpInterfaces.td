//===- OpInterfaces.td - what an op of the train dialect answers ----------===//
//
// A pass never switches over op kinds: it asks. Every interface is implemented
// in the op's own source file, its room (dialects/Train/Ops/<Op>.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef ZC_DIALECTS_INTERFACES_OPINTERFACES_TD
#define ZC_DIALECTS_INTERFACES_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    The op's gradient, written in ops of the same dialect (vector-Jacobian
    product).
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands from those of the results.

      `resultGrads[i]` is the gradient of result i, of its type, or null when no
      gradient reaches it (at least one is not null). For every operand i with
      `wanted[i]`, sets `operandGrads[i]` to a value of the operand's type (or of
      float32, where that has 16 bits), or leaves it null where the gradient is zero everywhere. Both arrays have the
      size of the operand list. Fails, with a diagnostic, only where the op has
      no gradient in an operand that is wanted.
    }],
    "::llvm::LogicalResult", "vjp",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
         "::llvm::ArrayRef<bool>":$wanted,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>
  ];
}

def ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    How the dims of operands and results belong together, as an einsum, and in
    which operands the op is linear. Kernels are split over threads by the same
    rule by which tensors are split over ranks.
  }];
  let methods = [
    InterfaceMethod<"The op's sharding rule; see ShardingRule.h.",
      "::zc::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Makes the op compute a part of its results: they get these types, and
      attributes that hold sizes follow. The caller has changed the operands'
      types, by the rule.
    }], "void", "setPartTypes", (ins "::mlir::TypeRange":$types), [{}], [{
      for (auto [result, type] : ::llvm::zip($_op->getResults(), types))
        result.setType(type);
    }]>,
    InterfaceMethod<[{
      The rule that decompose() follows as a whole: dims may be divided there
      that the op itself wants whole.
    }], "::zc::ShardingRule", "getFinerRule", (ins), [{}],
      [{ return $_op.getShardingRule(); }]>,
    InterfaceMethod<[{
      The op's results in terms of ops with fewer whole dims, for operands that are
      divided along them; nothing where the op is the finest form. `parts`: in how
      many parts each factor of the finer rule is divided.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<int64_t>":$parts),
      [{}], [{ return {}; }]>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::zc";
  let methods = [
    InterfaceMethod<[{
      Floating-point operations of one execution; a transcendental function
      counts as one, a multiply-add as two.
    }], "double", "getFlops">,
    InterfaceMethod<[{
      Bytes read and written when every operand is read once and every result
      written once.
    }], "double", "getBytes", (ins), [{}], [{
      return ::zc::operandAndResultBytes($_op);
    }]>
  ];
}

def LinalgFormOpInterface : OpInterface<"LinalgFormOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    The op's meaning as linalg, memref and arith ops on buffers: the form that
    the interpreter executes and that the code generator compiles.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits ops that read `inputs` (memrefs of the operands' shapes, any strides)
      and write every element of `outputs` (likewise for the results). Inputs
      and outputs do not overlap, unless `mayShareBuffer` allows a pair.
      Shapes may be smaller than the op's own types say: a kernel works on a
      block of the dims that the sharding rule calls parallel.
    }],
    "void", "buildLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs)>,
    InterfaceMethod<[{
      Whether result `result` may be written over operand `operand` while the op
      runs: every element is read before it is overwritten and never after.
    }],
    "bool", "mayShareBuffer", (ins "unsigned":$operand, "unsigned":$result),
    [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether `buildLinalg` reads back what it has written to the result, as the
      sums of a reduction are: in 16 bits it would be rounded again and again.
    }],
    "bool", "accumulates", (ins "unsigned":$result), [{}], [{ return false; }]>
  ];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    How an op treats numbers of 16 bits. Arithmetic is in float32 in any case;
    16 bits are how operands and results are stored. An op without this interface
    is of precision Same, keeps no operand and has no statistics.
  }];
  let methods = [
    InterfaceMethod<"See Precision.h.", "::zc::Precision", "getPrecision",
      (ins), [{}], [{ return ::zc::Precision::Same; }]>,
    InterfaceMethod<[{
      Whether the op takes the operand in whatever precision it has, so that it
      says nothing about the others: weights of a normalisation.
    }],
    "bool", "takesAnyPrecision", (ins "unsigned":$operand), [{}],
    [{ return false; }]>,
    InterfaceMethod<[{
      Whether the result is of float32 though the operands have 16 bits: sums,
      means, losses.
    }],
    "bool", "isStatistic", (ins "unsigned":$result), [{}],
    [{ return false; }]>
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    One result, computed element by element from operands of the same shape.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the op on scalars of the operands' element types; returns a scalar of
      the result's element type.
    }],
    "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$operands)>
  ];
}

def ImageOpInterface : OpInterface<"ImageOpInterface"> {
  let cppNamespace = "::zc";
  let description = [{
    An op on images whose channels may be dim 1 ([N, C, spatial...]) or the last
    dim ([N, spatial..., C]).
  }];
  let methods = [
    InterfaceMethod<"Indices of the operands that are images.",
      "::llvm::SmallVector<unsigned>", "getImageOperands">,
    InterfaceMethod<"Indices of the results that are images.",
      "::llvm::SmallVector<unsigned>", "getImageResults">,
    InterfaceMethod<"Whether the channels are the last of at least 3 dims.",
      "bool", "hasChannelsLast">,
    InterfaceMethod<[{
      Says that the images' channels are the last dim from now on; the caller
      changes the operands and the results' types.
    }], "void", "moveChannelsLast">
  ];
}

#endif // ZC_DIALECTS_INTERFACES_OPINTERFACES_TD
