//===- ExpertOps.td - products with one of several matrices per row -------===//
#ifndef ZC_DIALECTS_TRAIN_EXPERTOPS_TD
#define ZC_DIALECTS_TRAIN_EXPERTOPS_TD

include "dialects/Train/TrainDialect.td"

def Train_GroupedMatmulOp : Train_TensorOp<"grouped_matmul",
    [Train_Differentiable, Train_Precision<["getPrecision"]>],
    ["accumulates"]> {
  let summary = "each row by the matrix of its group";
  let description = [{
    rows [R, K], weights [E, K, N], or [E, N, K] with `transpose_weights`, groups
    [R], ids [E]: row r of the result [R, N] is rows[r] weights[e] where ids[e] =
    groups[r], and zeros where no id is. The ids differ from one another; as an
    operand they are divided together with the weights, so that a rank which has
    some of the experts computes their rows, and the sum of all ranks is the
    result. `experts` is how many there are on all ranks: each row is multiplied
    once, whatever E is.
    ```mlir
    %4 = train.grouped_matmul %0, %1, %2, %3 {experts = 8 : i64}
       : (tensor<64x32xf32>, tensor<8x32x16xf32>, tensor<64xi64>, tensor<8xi64>)
       -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$rows, Train_FloatTensor:$weights,
                       Train_IntTensor:$groups, Train_IntTensor:$ids,
                       I64Attr:$experts, UnitAttr:$transpose_weights);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_GroupedMatmulGradOp : Train_TensorOp<"grouped_matmul_grad",
    [Train_Precision<["getPrecision"]>], ["accumulates"]> {
  let summary = "gradient of grouped_matmul in its weights";
  let description = [{
    lhs [R, K], rhs [R, N], groups [R], ids [E]: matrix e of the result [E, K, N]
    is the sum over the rows with groups[r] = ids[e] of lhs[r]^T rhs[r], in the
    rows' order.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                       Train_IntTensor:$groups, Train_IntTensor:$ids,
                       I64Attr:$experts);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // ZC_DIALECTS_TRAIN_EXPERTOPS_TD
