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

def Train_FloorPowerOp : Train_ElementwiseOp<"floor_power", "None",
                                             [SameOperandsAndResultType]> {
  let summary = "the largest power of two not above x, which is positive and normal";
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$result);
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
    Or both factors have a scale for each of their blocks: a scale's tensor has as
    many dims as its factor, and element i along a dim is of the elements i b,
    ..., i b + b - 1 of the factor. With `packed_scales`, lhs is [M, K] and rhs
    [N, K], and scales lie as libraries read them: of blocks along K alone
    [K / 128, rows], of square ones [rows / 128, K / 128 up to a multiple of 4].
    ```mlir
    %4 = train.scaled_matmul %0, %1, %2, %3
       : (tensor<64x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<64x2xf32>,
          tensor<2x1xf32>) -> tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins Train_Float8Tensor:$lhs, Train_Float8Tensor:$rhs,
                       Train_FloatTensor:$lhs_scale,
                       Train_FloatTensor:$rhs_scale, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs, UnitAttr:$packed_scales);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether scales are of blocks, not of whole factors.
    bool hasBlocks();
  }];
}

#endif // ZC_DIALECTS_TRAIN_FLOAT8OPS_TD
