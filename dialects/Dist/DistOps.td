//===- DistOps.td - collectives -------------------------------------------===//
#ifndef ZC_DIALECTS_DIST_DISTOPS_TD
#define ZC_DIALECTS_DIST_DISTOPS_TD

include "dialects/Dist/DistAttrs.td"
include "dialects/Dist/DistInterfaces.td"
include "dialects/Train/TrainDialect.td"

// Semantics are NCCL's. With whole tensors' types operand and result have one
// type; with local ones, what a rank holds. `traffic` says what is sent:
// gradients, parameters, activations, statistics or scalars.
class Dist_CollectiveOp<string mnemonic, list<string> overrides = [],
                        list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure,
          DeclareOpInterfaceMethods<Dist_CollectiveOpInterface, overrides>],
          traits)> {
  let results = (outs Train_Tensor:$result);
  let assemblyFormat =
      "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", ["mayWorkInPlace"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "unreduced to whole: the sum of the group's terms";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes,
                       StrAttr:$traffic);
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather"> {
  let summary = "divided to whole: the group's parts one after another along `dim`";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim,
                       StrAttr:$traffic);
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter"> {
  let summary = "unreduced to divided: a rank's part along `dim` of the sum";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim,
                       StrAttr:$traffic);
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all"> {
  let summary = "divided along one dim to divided along another";
  let description = [{
    Whole tensors: `from` was divided, `to` is. Local, with `from = to = 0`: part i
    along dim 0 goes to rank i; parts come in rank order.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$from,
                       I64Attr:$to, StrAttr:$traffic);
}

def Dist_SliceOp : Dist_CollectiveOp<"slice"> {
  let summary = "whole to divided: a rank's own part along `dim`; sends nothing";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim);
}

def Dist_ReshardOp : Op<Dist_Dialect, "reshard", [Pure,
    AllTypesMatch<["input", "result"]>]> {
  let summary = "the same tensor, divided as `dist.results` says";
  let description = [{
    A place where a value is reduced once for all its users.
    `--zc-insert-collectives` replaces it by collectives.
  }];
  let arguments = (ins Train_Tensor:$input);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif // ZC_DIALECTS_DIST_DISTOPS_TD
