//===- DistOps.td - collectives -------------------------------------------===//
#ifndef ZC_DIALECTS_DIST_DISTOPS_TD
#define ZC_DIALECTS_DIST_DISTOPS_TD

include "dialects/Dist/DistAttrs.td"
include "dialects/Dist/DistInterfaces.td"
include "dialects/Interfaces/NamedEnum.td"
include "dialects/Interfaces/Traffic.td"
include "dialects/Train/TrainDialect.td"

// Semantics are NCCL's. With whole tensors' types operand and result have one
// type; with local ones, what a rank holds. `traffic` says what is sent:
// gradients, parameters, activations, statistics or scalars.
class Dist_ExchangeOp<string mnemonic, list<string> methods,
                      list<Trait> traits>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure,
          DeclareOpInterfaceMethods<Dist_CollectiveOpInterface, methods>],
          traits)> {
  let results = (outs Train_Tensor:$result);
  let assemblyFormat =
      "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
}

class Dist_CollectiveOp<string mnemonic, list<string> overrides = [],
                        list<Trait> traits = []>
    : Dist_ExchangeOp<mnemonic, !listconcat(["applyTo", "buildLocal"],
                                            overrides), traits>;

// Works on each rank's part: no sharding of a whole tensor says that one rank
// holds what others of its group do not. `root` is a rank's number in the
// group.
class Dist_PartsOp<string mnemonic, list<string> overrides = [],
                   list<Trait> traits = []>
    : Dist_ExchangeOp<mnemonic, overrides, traits>;

class Dist_RootedOp<string mnemonic, list<string> overrides = [],
                    list<Trait> traits = []>
    : Dist_PartsOp<mnemonic, overrides, traits> {
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$root,
                       NamedEnumAttr<Traffic>:$traffic);
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", ["mayWorkInPlace"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "unreduced to whole: the sum of the group's terms";
  let description = [{
    `holders`, if given, are the coordinates along the one axis that take part.
    With `stays_whole` it stays one, though each rank needs only its part.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes,
                       NamedEnumAttr<Traffic>:$traffic,
                       OptionalAttr<DenseI64ArrayAttr>:$holders,
                       UnitAttr:$stays_whole);
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather"> {
  let summary = "divided to whole: the group's parts one after another along `dim`";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim,
                       NamedEnumAttr<Traffic>:$traffic);
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter"> {
  let summary = "unreduced to divided: a rank's part along `dim` of the sum";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim,
                       NamedEnumAttr<Traffic>:$traffic);
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all"> {
  let summary = "divided along one dim to divided along another";
  let description = [{
    Whole tensors: `from` was divided, `to` is. Local, with `from = to = 0`: part i
    along dim 0 goes to rank i; parts come in rank order.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$from,
                       I64Attr:$to, NamedEnumAttr<Traffic>:$traffic);
}

def Dist_SliceOp : Dist_CollectiveOp<"slice"> {
  let summary = "whole to divided: a rank's own part along `dim`; sends nothing";
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim);
}

def Dist_TermsOp : Dist_CollectiveOp<"terms", ["getOperandSharding"]> {
  let summary = "unreduced to one row a rank: row r is rank r's term of the sum";
  let description = [{
    Sends nothing. The result has one dim more, in front, of as many rows as the
    group has ranks, divided over `axes`; the rows add up to the operand. If
    the operand is whole over an axis, every rank's term is an equal part. So an
    op on a rank's own term before any sum, such as compression, is an op on a
    divided tensor.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes);
}

def Dist_RoleSumOp : Dist_CollectiveOp<"role_sum", ["getOperandSharding"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "the sum of what the roles of a pipeline have";
  let description = [{
    Each role has a module of its own, so that no sharding says that its values
    are terms of a sum over roles: this op does. Operand and result are divided
    alike, and reduced: as `dist.sharding` says, where roles agreed on it, else as
    the operand is. `holders`, if given, are the coordinates along the axis that
    take part.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes,
                       NamedEnumAttr<Traffic>:$traffic,
                       OptionalAttr<DenseI64ArrayAttr>:$holders);
}

def Dist_BroadcastOp : Dist_RootedOp<"broadcast", ["mayWorkInPlace"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "the root's part on every rank";
  let description = [{
    `of_server`: the root is a parameter server, which alone has computed what it
    sends; `served`, if given, is the state that the ranks keep it in.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$root,
                       NamedEnumAttr<Traffic>:$traffic, UnitAttr:$of_server,
                       OptionalAttr<FlatSymbolRefAttr>:$served);
}

def Dist_ReduceOp : Dist_RootedOp<"reduce", [],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "the sum of all parts on the root; elsewhere it has no meaning";
}

def Dist_GatherOp : Dist_RootedOp<"gather"> {
  let summary = "the parts one after another along dim 0, on the root; elsewhere "
                "it has no meaning";
}

def Dist_ScatterOp : Dist_RootedOp<"scatter"> {
  let summary = "a rank's part along dim 0 of what the root holds";
}

def Dist_SendReceiveOp : Dist_PartsOp<"send_receive", [],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "to the rank `shift` further round the group, from the one as "
                "far behind";
  let description = [{
    A send and a receive in one op, as all ranks run one program.
  }];
  let arguments = (ins Train_Tensor:$input, StrArrayAttr:$axes, I64Attr:$shift,
                       NamedEnumAttr<Traffic>:$traffic);
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
