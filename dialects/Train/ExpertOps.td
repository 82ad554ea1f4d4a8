//===- ExpertOps.td - products with one of several matrices per row -------===//
#ifndef ZC_DIALECTS_TRAIN_EXPERTOPS_TD
#define ZC_DIALECTS_TRAIN_EXPERTOPS_TD

include "dialects/Train/ElementwiseBase.td"

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

    Rows [E, R, K] with groups [E, R] and a result [E, R, N] have been sorted:
    rows[e] are of expert ids[e] where their group says so, and else are empty
    and give zeros. All but `filled` of them are, which is what it costs.

    `order` is nothing, or what `train.expert_order` says of the same groups and
    ids, and its ends: where a device finds an expert's rows. It changes no value.

    `room_groups` and `room_capacity` are what a model's file says of its rooms:
    in how many groups, of equally many tokens in a row, tokens share room, and how
    many rows of an expert find some in each. --zc-dispatch-experts makes these
    rooms, or those that it is told.
    ```mlir
    %4 = train.grouped_matmul %0, %1, %2, %3 {experts = 8 : i64}
       : (tensor<64x32xf32>, tensor<8x32x16xf32>, tensor<64xi64>, tensor<8xi64>)
       -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$rows, Train_FloatTensor:$weights,
                       Train_IntTensor:$groups, Train_IntTensor:$ids,
                       Variadic<Train_IntTensor>:$order, I64Attr:$experts,
                       DefaultValuedAttr<F64Attr, "1">:$filled,
                       UnitAttr:$transpose_weights,
                       OptionalAttr<I64Attr>:$room_groups,
                       OptionalAttr<I64Attr>:$room_capacity);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_GroupedMatmulGradOp : Train_TensorOp<"grouped_matmul_grad",
    [Train_Precision<["getPrecision"]>], ["accumulates"]> {
  let summary = "gradient of grouped_matmul in its weights";
  let description = [{
    lhs [R, K], rhs [R, N], groups [R], ids [E]: matrix e of the result [E, K, N]
    is the sum over the rows with groups[r] = ids[e] of lhs[r]^T rhs[r], in the
    rows' order; of rows [E, R, ..] those of its own. `order` as in
    grouped_matmul.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                       Train_IntTensor:$groups, Train_IntTensor:$ids,
                       Variadic<Train_IntTensor>:$order, I64Attr:$experts,
                       DefaultValuedAttr<F64Attr, "1">:$filled);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_ExpertOrderOp : Train_TensorOp<"expert_order"> {
  let summary = "rows, those of one expert behind those of another";
  let description = [{
    groups [R] or [E, R] and ids [E] as of grouped_matmul, ends [E]: how many rows
    are of the first expert, of the first two, and so on. The result, of as many
    numbers as there are groups, lists the rows of each expert in their order, and
    behind them all rows that are of none.
  }];
  let arguments = (ins Train_IntTensor:$groups, Train_IntTensor:$ids,
                       Train_IntTensor:$ends);
  let results = (outs Train_IntTensor:$result);
  let hasVerifier = 1;
}

def Train_ExpertSlotsOp : Train_TensorOp<"expert_slots"> {
  let summary = "a place for each row in the room of its expert";
  let description = [{
    groups [G, R], of each row its expert; the R rows of each of the G groups are
    `choices` of R / choices tokens each, token by token. Each group has room for
    `capacity` rows of each expert, which tokens get in their order, all first
    choices before the second ones. `slots` [G, R] is a row's place, expert
    capacity + n, or -1 where there is no room or no such expert; `rows` [G,
    experts capacity] is the row of each place, or -1; `counts` [G, experts] is
    how many rows wanted each expert.
  }];
  let arguments = (ins Train_IntTensor:$groups, I64Attr:$experts,
                       I64Attr:$capacity, I64Attr:$choices);
  let results = (outs Train_IntTensor:$slots, Train_IntTensor:$rows,
                      Train_IntTensor:$counts);
  let hasVerifier = 1;
}

def Train_ExchangeRowsOp : Train_TensorOp<"exchange_rows",
                                          [Train_Differentiable]> {
  let summary = "rows at other places; zeros where an index is negative";
  let description = [{
    input [G, M, W], indices [G, N], inverse [G, M], result [G, N, W]: row n of
    group g is input[g, indices[g, n]]. `inverse` says where each row went, or is
    negative where it went nowhere, so that the gradient is such an exchange too:
    nothing is added up.

    With `mark_empty` the elements of a row without an index are not 0 but minus
    infinity, in every type and after every conversion: whoever gets such a row
    sees that it is empty.
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_IntTensor:$indices,
                       Train_IntTensor:$inverse, UnitAttr:$mark_empty);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_PlaceExpertsOp : Train_ElementwiseOp<"place_experts", "Joint",
    [SameOperandsAndResultType, Train_Differentiable]> {
  let summary = "x [experts, groups, ..]: from those who have groups to experts";
  let description = [{
    x itself. `--zc-place-experts` makes a reshard of it: with `to_experts` its
    dim 0 is divided over the axis of experts afterwards, and without, its dim 1
    over all that divide samples.
  }];
  let arguments = (ins Train_Tensor:$input, UnitAttr:$to_experts);
  let results = (outs Train_Tensor:$result);
}

#endif // ZC_DIALECTS_TRAIN_EXPERTOPS_TD
