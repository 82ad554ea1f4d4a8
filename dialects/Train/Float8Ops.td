//===- Float8Ops.td - products of 8-bit floats ----------------------------===//
#ifndef ZC_DIALECTS_TRAIN_FLOAT8OPS_TD
#define ZC_DIALECTS_TRAIN_FLOAT8OPS_TD

include "dialects/Train/ElementwiseBase.td"

def Train_Float8Tensor : StaticShapeTensorOf<[F8E4M3FN, F8E5M2]>;

def Train_AmaxOp : Train_TensorOp<"amax", [], ["accumulates"],
                                  ["getFinerRule", "decompose"]> {
  let summary = "the largest magnitude over `dims`, which disappear";
  let description = [{
    Increasing dims; NaN if there is one; 0 of zeros. Ranks that divide such a dim
    send the largest magnitudes of their parts, not their parts.
    ```mlir
    %1 = train.amax %0 dims [0, 1] : (tensor<4x512xbf16>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Train_ScaledMatmulOp : Train_TensorOp<"scaled_matmul", [],
                                          ["accumulates"]> {
  let summary = "lhs_scale rhs_scale (lhs x rhs), of 8-bit floats";
  let description = [{
    The product is that of `train.matmul`, added up in float32, then scaled by two
    numbers of float32 and rounded to the result's type. Factors may be of two
    different types.
    ```mlir
    %4 = train.scaled_matmul %0, %1, %2, %3 {transpose_rhs}
       : (tensor<64x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<f32>, tensor<f32>)
       -> tensor<64x16xbf16>
    ```
  }];
  let arguments = (ins Train_Float8Tensor:$lhs, Train_Float8Tensor:$rhs,
                       Train_FloatTensor:$lhs_scale,
                       Train_FloatTensor:$rhs_scale, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // ZC_DIALECTS_TRAIN_FLOAT8OPS_TD
