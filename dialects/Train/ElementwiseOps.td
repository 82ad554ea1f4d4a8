//===- ElementwiseOps.td - one element from the elements at its place -----===//
#ifndef ZC_DIALECTS_TRAIN_ELEMENTWISEOPS_TD
#define ZC_DIALECTS_TRAIN_ELEMENTWISEOPS_TD

include "dialects/Interfaces/NamedEnum.td"
include "dialects/Train/ElementwiseBase.td"
include "dialects/Train/OpKinds.td"

class Train_UnaryOp<string mnemonic, string linearity = "None",
                    list<Trait> traits = []>
    : Train_ElementwiseOp<mnemonic, linearity, !listconcat(
          [SameOperandsAndResultType, Train_Differentiable], traits)> {
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$result);
}

class Train_BinaryOp<string mnemonic, string linearity = "None",
                     list<Trait> traits = []>
    : Train_ElementwiseOp<mnemonic, linearity, !listconcat(
          [SameOperandsAndResultType, Train_Differentiable], traits)> {
  let arguments = (ins Train_Tensor:$lhs, Train_Tensor:$rhs);
  let results = (outs Train_Tensor:$result);
}

// Their room says getPrecision.
class Train_PreciseUnaryOp<string mnemonic>
    : Train_UnaryOp<mnemonic, "None", [Train_Precision<["getPrecision"]>]>;

def Train_NegOp : Train_UnaryOp<"neg", "Joint"> { let summary = "-x"; }
def Train_AbsOp : Train_UnaryOp<"abs"> { let summary = "|x|; gradient 0 at 0"; }
def Train_ExpOp : Train_PreciseUnaryOp<"exp"> { let summary = "e^x"; }
def Train_Expm1Op : Train_PreciseUnaryOp<"expm1"> { let summary = "e^x - 1"; }
def Train_LogOp : Train_PreciseUnaryOp<"log"> { let summary = "natural logarithm"; }
def Train_SqrtOp : Train_PreciseUnaryOp<"sqrt"> { let summary = "square root"; }
def Train_RsqrtOp : Train_PreciseUnaryOp<"rsqrt"> { let summary = "1 / sqrt(x)"; }
def Train_TanhOp : Train_UnaryOp<"tanh"> { let summary = "hyperbolic tangent"; }
def Train_ErfOp : Train_UnaryOp<"erf"> { let summary = "Gauss error function"; }
def Train_SinOp : Train_UnaryOp<"sin"> { let summary = "sine"; }
def Train_CosOp : Train_UnaryOp<"cos"> { let summary = "cosine"; }
def Train_AtanOp : Train_UnaryOp<"atan"> { let summary = "arc tangent"; }
def Train_TanOp : Train_PreciseUnaryOp<"tan"> { let summary = "tangent"; }
def Train_AsinOp : Train_PreciseUnaryOp<"asin"> { let summary = "arc sine"; }
def Train_AcosOp : Train_PreciseUnaryOp<"acos"> { let summary = "arc cosine"; }
def Train_SinhOp : Train_PreciseUnaryOp<"sinh"> {
  let summary = "hyperbolic sine";
}
def Train_CoshOp : Train_PreciseUnaryOp<"cosh"> {
  let summary = "hyperbolic cosine";
}
def Train_AsinhOp : Train_UnaryOp<"asinh"> { let summary = "inverse of sinh"; }
def Train_AcoshOp : Train_UnaryOp<"acosh"> { let summary = "inverse of cosh"; }
def Train_AtanhOp : Train_UnaryOp<"atanh"> { let summary = "inverse of tanh"; }
def Train_GaussianOp : Train_UnaryOp<"gaussian"> { let summary = "e^-x^2"; }
def Train_FloorOp : Train_UnaryOp<"floor"> {
  let summary = "the largest integer not above x; gradient 0";
}
def Train_CeilOp : Train_UnaryOp<"ceil"> {
  let summary = "the smallest integer not below x; gradient 0";
}
def Train_RoundOp : Train_UnaryOp<"round"> {
  let summary = "the nearest integer, the even one of two; gradient 0";
}
def Train_SigmoidOp : Train_UnaryOp<"sigmoid"> { let summary = "1 / (1 + e^-x)"; }
def Train_ReluOp : Train_UnaryOp<"relu"> {
  let summary = "max(x, 0); gradient 0 at 0, NaN stays NaN";
}

def Train_GeluOp : Train_UnaryOp<"gelu"> {
  let summary = "Gaussian error linear unit";
  let description = [{
    x/2 (1 + erf(x/sqrt 2)); with `tanh`, the approximation
    x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks & Gimpel 2016).
  }];
  let arguments = (ins Train_FloatTensor:$input, UnitAttr:$tanh);
}

def Train_GeluGradOp : Train_ElementwiseOp<"gelu_grad", "None",
                                           [SameOperandsAndResultType]> {
  let summary = "gradient of gelu at `input`, times `grad`";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$grad,
                       UnitAttr:$tanh);
  let results = (outs Train_FloatTensor:$result);
}

def Train_NormalTailOp : Train_Op<"normal_tail",
    [Pure, AllTypesMatch<["input", "scale", "result"]>]> {
  let summary = "scale erfc(x / sqrt 2) / 2, x >= 0: a scalar of kernels";
  let description = [{
    In a kernel's body only. As erfc of a rounded quotient it would lose digits
    where it is small.
  }];
  let arguments = (ins AnyFloat:$input, AnyFloat:$scale);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "operands attr-dict `:` type($result)";
}

def Train_LineOp : Train_UnaryOp<"line"> {
  let summary = "slope x + offset, rounded once";
  let arguments = (ins Train_FloatTensor:$input, F64Attr:$slope,
                       F64Attr:$offset);
}

def Train_SwishOp : Train_UnaryOp<"swish"> {
  let summary = "x sigmoid(alpha x)";
  let arguments = (ins Train_FloatTensor:$input, F64Attr:$alpha);
}

def Train_SwishGradOp : Train_ElementwiseOp<"swish_grad", "None",
                                            [SameOperandsAndResultType]> {
  let summary = "gradient of swish at `input`, times `grad`";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$grad,
                       F64Attr:$alpha);
  let results = (outs Train_FloatTensor:$result);
}

def Train_MishOp : Train_UnaryOp<"mish"> {
  let summary = "x tanh(softplus(x))";
}

def Train_MishGradOp : Train_ElementwiseOp<"mish_grad", "None",
                                           [SameOperandsAndResultType]> {
  let summary = "gradient of mish at `input`, times `grad`";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$grad);
  let results = (outs Train_FloatTensor:$result);
}

def Train_SoftsignOp : Train_UnaryOp<"softsign"> {
  let summary = "x / (1 + |x|)";
}

def Train_SoftplusOp : Train_PreciseUnaryOp<"softplus"> {
  let summary = "log(1 + e^x), without overflow";
}

def Train_DropoutOp : Train_UnaryOp<"dropout", "Joint"> {
  let summary = "x; elements are dropped in training";
  let description = [{
    The identity, as in evaluation. `--zc-build-loss` replaces the op in the step
    program by `dropout_training`.
  }];
  let arguments = (ins Train_FloatTensor:$input, F64Attr:$ratio);
}

def Train_DropoutTrainingOp : Train_ElementwiseOp<"dropout_training", "None",
    [AllTypesMatch<["input", "result"]>, Train_Differentiable]> {
  let summary = "0 with probability `ratio`, else x / (1 - ratio)";
  let description = [{
    Counter-based: whether an element is dropped is a function of `key` (an i64,
    the same everywhere, made by `random_key`) and of the sum of `positions`,
    which are i64 and broadcast from one vector per dim, so that the sum is the
    element's row-major index in the whole tensor. Neither threads nor ranks nor
    a second computation change it, and nothing but `key` is kept for the
    gradient.
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_IntTensor:$key,
                       Variadic<Train_IntTensor>:$positions, F64Attr:$ratio);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_RandomKeyOp : Train_ElementwiseOp<"random_key", "None",
                                            [SameOperandsAndResultType]> {
  let summary = "an i64 that is a well mixed function of `key` and `data`";
  let description = [{
    splitmix64 (Steele, Lea & Flood 2014) of `key` + golden ratio `data`:
    derives the key of a step from a seed, and that of an op from a step's.
  }];
  let arguments = (ins Train_IntTensor:$key, Train_IntTensor:$data);
  let results = (outs Train_IntTensor:$result);
  let hasVerifier = 1;
}

class Train_RandomOp<string mnemonic> : Train_ElementwiseOp<mnemonic, "None"> {
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_RandomUniformOp : Train_RandomOp<"random_uniform"> {
  let summary = "numbers drawn evenly from [-bound, bound)";
  let description = [{
    Counter-based, as `dropout_training`: an element is a function of `key` and
    of its row-major index in the whole tensor, the sum of `positions`.
  }];
  let arguments = (ins Train_IntTensor:$key, Variadic<Train_IntTensor>:$positions,
                       F64Attr:$bound);
}

def Train_RandomNormalOp : Train_RandomOp<"random_normal"> {
  let summary = "numbers of a normal distribution of mean 0";
  let description = [{
    `std` is its standard deviation. Counter-based, as `random_uniform`; none is
    further than 5.9 standard deviations from 0.
  }];
  let arguments = (ins Train_IntTensor:$key, Variadic<Train_IntTensor>:$positions,
                       F64Attr:$std);
}

def Train_IsNanOp : Train_ElementwiseOp<"is_nan", "None"> {
  let summary = "whether x is not a number";
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_BoolTensor:$result);
}

def Train_NotOp : Train_ElementwiseOp<"not", "None", [SameOperandsAndResultType]> {
  let summary = "logical negation";
  let arguments = (ins Train_BoolTensor:$input);
  let results = (outs Train_BoolTensor:$result);
}

def Train_AddOp : Train_BinaryOp<"add", "Joint", [Commutative]> {
  let summary = "x + y";
  let description = [{
    With `in_place` y may be added to x where x lies, once both are of one rank
    (--zc-accumulate-in-place). `running_sum`: the sum grows turn by turn. A
    region ends with it: where it went on, all terms would wait in memory for the
    last one. `rounded`: DequantizeLinear takes it in place of the bits that
    QuantizeLinear makes of it, so that gradients find their way.
  }];
  let arguments = (ins Train_Tensor:$lhs, Train_Tensor:$rhs, UnitAttr:$in_place,
                       UnitAttr:$running_sum, UnitAttr:$rounded);
  let hasFolder = 1;
}
def Train_SubOp : Train_BinaryOp<"sub", "Joint"> {
  let summary = "x - y";
  let hasFolder = 1;
}
def Train_MulOp : Train_BinaryOp<"mul", "Separate", [Commutative]> {
  let summary = "x y";
  let hasFolder = 1;
}
// Linear in the dividend alone: getShardingRule is written by hand.
def Train_DivOp : Train_BinaryOp<"div"> {
  let summary = "x / y; integers truncate toward zero";
  let hasFolder = 1;
  let extraClassDefinition = [{
    double $cppClass::getFlops() {
      return static_cast<double>(::zc::numElements(getResult().getType()));
    }
    void $cppClass::buildLinalg(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                ::mlir::ValueRange inputs,
                                ::mlir::ValueRange outputs) {
      buildElementwiseLinalg(getOperation(), builder, loc, inputs, outputs);
    }
  }];
}
def Train_MaxOp : Train_BinaryOp<"max", "None", [Commutative]> {
  let summary = "the larger; NaN if either is; equal operands share the gradient";
}
def Train_MinOp : Train_BinaryOp<"min", "None", [Commutative]> {
  let summary = "the smaller; NaN if either is; equal operands share the gradient";
}
def Train_PowOp : Train_BinaryOp<"pow", "None",
    [Train_Precision<["getPrecision"]>]> { let summary = "x^y, floats"; }

class Train_LogicalOp<string mnemonic>
    : Train_ElementwiseOp<mnemonic, "None",
                          [SameOperandsAndResultType, Commutative]> {
  let arguments = (ins Train_BoolTensor:$lhs, Train_BoolTensor:$rhs);
  let results = (outs Train_BoolTensor:$result);
}
def Train_AndOp : Train_LogicalOp<"and"> { let summary = "logical and"; }
def Train_OrOp : Train_LogicalOp<"or"> { let summary = "logical or"; }

def Train_CompareOp : Train_ElementwiseOp<"compare", "None"> {
  let summary = "x PREDICATE y, one of eq ne lt le gt ge";
  let description = [{
    Ordered comparison: false where either is NaN, except `ne`, then true.
  }];
  let arguments = (ins NamedEnumAttr<Train_Predicate>:$predicate,
                       Train_Tensor:$lhs, Train_Tensor:$rhs);
  let results = (outs Train_BoolTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Train_SelectOp : Train_ElementwiseOp<"select", "None", [Train_Differentiable,
    AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "condition ? on_true : on_false";
  let arguments = (ins Train_BoolTensor:$condition, Train_Tensor:$on_true,
                       Train_Tensor:$on_false);
  let results = (outs Train_Tensor:$result);
}

// Linear (but for rounding) from float to float: getShardingRule is written by
// hand.
def Train_ConvertOp : Train_ElementwiseOp<"convert", "None", [Train_Differentiable]> {
  let summary = "the same value in another element type";
  let description = [{
    Float to integer truncates toward zero; to i1: whether the value is not 0.

    `rounds_result`: it rounds what an op has computed wider than its result, as
    that op would have itself. `rounds_operand`: its operand is rounded to the
    operand's own type first, though it may come in a register, wider: a product
    reads what its factor's tensor holds. `rounds_parameter`: it stands for the
    copy in 16 bits that a parameter has not; `of_backward`: once more, for the
    backward. `stays_term`: a term of a sum over ranks stays one, though the
    result has more bytes than the operand.
  }];
  let arguments = (ins Train_Tensor:$input, UnitAttr:$rounds_result,
                       UnitAttr:$rounds_operand, UnitAttr:$rounds_parameter,
                       UnitAttr:$of_backward, UnitAttr:$stays_term);
  let hasVerifier = 1;
  let results = (outs Train_Tensor:$result);
  let extraClassDefinition = [{
    double $cppClass::getFlops() {
      return static_cast<double>(::zc::numElements(getResult().getType()));
    }
    void $cppClass::buildLinalg(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                ::mlir::ValueRange inputs,
                                ::mlir::ValueRange outputs) {
      buildElementwiseLinalg(getOperation(), builder, loc, inputs, outputs);
    }
  }];
}

#endif // ZC_DIALECTS_TRAIN_ELEMENTWISEOPS_TD
