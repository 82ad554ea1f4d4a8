//===- ShapeOps.td - moving elements, reducing them -----------------------===//
#ifndef ZC_DIALECTS_TRAIN_SHAPEOPS_TD
#define ZC_DIALECTS_TRAIN_SHAPEOPS_TD

include "dialects/Interfaces/NamedEnum.td"
include "dialects/Train/OpKinds.td"
include "dialects/Train/TrainDialect.td"

def Train_ConstantOp : Train_TensorOp<"constant", [ConstantLike,
    AllTypesMatch<["value", "result"]>], [], ["setPartTypes"]> {
  let summary = "a value known at compile time";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Train_Tensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict $value";
}

def Train_IotaOp : Train_TensorOp<"iota"> {
  let summary = "0, stride, 2 stride, ... in one dim";
  let description = [{
    Broadcast and added, such tensors give every element's row-major index,
    without data in the program.
  }];
  let arguments = (ins I64Attr:$stride);
  let results = (outs Train_IntTensor:$result);
  let hasVerifier = 1;
}

def Train_BroadcastOp : Train_TensorOp<"broadcast", [Train_Differentiable]> {
  let summary = "repeats a tensor along new dims and along dims of size 1";
  let description = [{
    Operand dim i becomes result dim `dims[i]` (strictly increasing) and has its
    size, or size 1.
    ```mlir
    %1 = train.broadcast %0 {dims = array<i64: 1>}
       : (tensor<768xf32>) -> tensor<1024x768xf32>
    ```
    `stays_term`: a term of a sum over ranks stays one, though the result has more
    bytes than the operand.
  }];
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$dims,
                       UnitAttr:$stays_term);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Train_ReshapeOp : Train_TensorOp<"reshape", [Train_Differentiable]> {
  let summary = "the same elements in row-major order in another shape";
  let description = "A view: costs nothing and shares its operand's memory.";
  let arguments = (ins Train_Tensor:$input);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def Train_TransposeOp : Train_TensorOp<"transpose", [Train_Differentiable]> {
  let summary = "result dim i is operand dim permutation[i]";
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Train_SliceOp : Train_TensorOp<"slice", [Train_Differentiable]> {
  let summary = "elements at offsets[d] + i * strides[d]";
  let description = [{
    Strides are positive; the result's type says how many. With `in_loops` the
    loops around it read its operand, where a kernel of its own would copy.
  }];
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$offsets,
                       DenseI64ArrayAttr:$strides, UnitAttr:$in_loops);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def Train_PadOp : Train_TensorOp<"pad", [Train_Differentiable]> {
  let summary = "zeros before, between and after the elements";
  let description = [{
    Element i of dim d lands at `low[d] + i * (interior[d] + 1)`; the result's
    type says how many zeros follow.
  }];
  let arguments = (ins Train_Tensor:$input, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$interior);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Train_ConcatOp : Train_TensorOp<"concat", [Train_Differentiable]> {
  let summary = "operands one after the other along `dim`";
  let description = [{
    With `in_loops` two equal parts along the innermost dim are read by the loops
    around it, where a kernel of its own would copy.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$inputs, I64Attr:$dim,
                       UnitAttr:$in_loops);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Train_SplitOp : Train_TensorOp<"split", [Train_Differentiable]> {
  let summary = "the operand cut along `dim`; concat backwards";
  let description = [{
    Where every part is used: its gradient is one concat, that of as many slices
    a sum of as many padded tensors.
  }];
  let arguments = (ins Train_Tensor:$input, I64Attr:$dim);
  let results = (outs Variadic<Train_Tensor>:$results);
  let hasVerifier = 1;
}

def Train_ReduceOp : Train_TensorOp<"reduce", [Train_Differentiable,
    Train_Precision<["isStatistic"]>], ["accumulates"]> {
  let summary = "sum, max, min, prod or sum_square over `dims`, which disappear";
  let description = [{
    max and min give NaN where an element is NaN; elements that are equal to the
    maximum share its gradient evenly, as in PyTorch's amax. sum_square is the sum
    of the elements' squares. Floats of 16 bits may be reduced to float32.
  }];
  let arguments = (ins NamedEnumAttr<Train_ReduceKind>:$kind,
                       Train_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$kind $input attr-dict `:` functional-type(operands, results)";
}

def Train_PackBitsOp : Train_TensorOp<"pack_bits"> {
  let summary = "truth values, eight to a byte";
  let description = [{
    `dim`, of n elements, becomes one of P = ceil(n / 8) bytes: bit b of byte p is
    element b P + p, so that whole rows are packed at once. Bits without
    an element are 0.
  }];
  let arguments = (ins Train_BoolTensor:$input, I64Attr:$dim);
  let results = (outs Train_IntTensor:$result);
  let hasVerifier = 1;
}

def Train_UnpackBitsOp : Train_TensorOp<"unpack_bits"> {
  let summary = "the truth values that `pack_bits` has packed along `dim`";
  let arguments = (ins Train_IntTensor:$input, I64Attr:$dim);
  let results = (outs Train_BoolTensor:$result);
  let hasVerifier = 1;
}

#endif // ZC_DIALECTS_TRAIN_SHAPEOPS_TD
