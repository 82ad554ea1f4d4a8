//===- Passes.td - tokens that ranks divide -------------------------------===//
#ifndef ZC_PASSES_SEQUENCE_PASSES_TD
#define ZC_PASSES_SEQUENCE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DivideResidualsPass : Pass<"zc-divide-residuals", "::mlir::ModuleOp"> {
  let summary = "tokens of residuals over the ranks of tp (Megatron's sequence parallelism)";
  let description = [{
    Behind --zc-annotate-mesh, on rows of samples and tokens apart. Where a branch
    is added to a residual, and where residuals begin, tokens are divided over
    `axis`, too. Norms, dropout and what the backward keeps of them follow in
    --zc-propagate-sharding. Products read all tokens; those of the backward gather
    them again, unless `keeps`. The module gets `train.divided_residuals`, the number
    of what is divided.

    ```mlir
    %0 = train.add %x, %branch : (tensor<4x32x8xf32>, tensor<4x32x8xf32>) -> tensor<4x32x8xf32>
    // becomes
    %1 = dist.reshard %0 {dist.sharding = #dist.sharding<dp,tp,_>}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tp\"", "the axis of the mesh">,
    Option<"isAsked", "is-asked", "bool", "false",
           "an error where tokens do not divide">,
    Option<"keeps", "keeps", "bool", "false",
           "what the forward has gathered is kept for the backward">
  ];
  let statistics = [
    Statistic<"numDivided", "num-divided", "Residuals divided">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def ExchangeHalosPass : Pass<"zc-exchange-halos", "::mlir::ModuleOp"> {
  let summary = "convolutions over tokens get their neighbours' edges";
  let description = [{
    Tokens, found as --zc-find-tokens does or given by `dims`, are written as blocks
    of `parts` ranks; a convolution over them is one of each block, with what it
    needs of the blocks beside it. On the programs that gradients are built from.

    ```mlir
    %0 = train.conv %x, %w {pads_low = array<i64: 2>, ...} : (tensor<4x8x32xf32>, tensor<8x8x3xf32>) -> ...
    // becomes, for two ranks
    %1 = train.reshape %x : (...) -> tensor<4x8x2x16xf32>
    %2 = train.slice %1 {offsets = array<i64: 0, 0, 0, 14>, ...} : (...) -> tensor<4x8x2x2xf32>
    %3 = train.slice %2 : (...) -> tensor<4x8x1x2xf32>
    %4 = train.pad %3 {low = array<i64: 0, 0, 1, 0>, ...} : (...) -> tensor<4x8x2x2xf32>
    %5 = train.concat %4, %1 {dim = 3 : i64} : (...) -> tensor<4x8x2x18xf32>
    %6 = train.conv %5, %w : (tensor<4x8x2x18xf32>, tensor<8x8x1x3xf32>) -> tensor<4x8x2x16xf32>
    ```
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "1", "ranks that divide the tokens">,
    ListOption<"dims", "dims", "std::string",
               "INPUT=K or INPUT=none, before what is found">
  ];
  let statistics = [
    Statistic<"numConvolutions", "num-convolutions", "Convolutions over tokens">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def FindTokensPass : Pass<"zc-find-tokens", "::mlir::ModuleOp"> {
  let summary = "find the inputs' dims of tokens, and how attention divides them";
  let description = [{
    Dims that the ops' sharding rules tie to an attention's queries count tokens,
    but where --zc-mark-tokens says otherwise. Those of inputs get `train.token_dim`, and those of
    outputs, of which each rank keeps its tokens: the host puts them together. Ops that
    mix tokens in another way than attention are refused, all of them at once:
    convolutions, and nodes that read them one after another.

    An attention whose heads `parts` ranks can divide, beside those of `axis tp`,
    gets `dist.exchange`: the axis moves from its tokens to its heads and back
    (Ulysses). Others keep their queries and get `tokens`: how keys and values
    come, a part at a time or all of them. The products of an attention that dropout
    or a learned bias keeps from being one op divide their heads, too, or keep their
    queries and get `dist.gathered`: the factors that are whole, keys.

    ```mlir
    func.func @step(%ids: tensor<4x32xi64> {train.input = "ids", train.batch_dim = 0})
    // becomes
    func.func @step(%ids: tensor<4x32xi64> {train.token_dim = 1 : i64, ...})
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"sp\"", "the axis of the mesh">,
    Option<"parts", "parts", "int64_t", "1", "ranks that divide the tokens">,
    Option<"headParts", "head-parts", "int64_t", "1",
           "ranks that divide the heads already">,
    Option<"attention", "attention", "std::string", "\"auto\"",
           "auto, ulysses, gather, ring, ring=zigzag or ring=contiguous">
  ];
  let dependentDialects = ["::zc::dist::DistDialect", "::zc::sched::SchedDialect"];
}

def MarkTokensPass : Pass<"zc-mark-tokens", "::mlir::ModuleOp"> {
  let summary = "marks inputs by the user's word on their tokens, some of which must be divisible";
  let description = [{
    On the whole model, before a pipeline is cut: inputs in `dims` get
    `train.token_dim`, or `train.no_tokens`. An error where no input's tokens can be
    divided, or an `attention` is asked for and none has them.

    ```mlir
    func.func @step(%ids: tensor<4x32xi64> {train.input = "ids"}, %times: tensor<4x32xi64> {train.input = "times"})
    // becomes, with ids=1 and times=none
    func.func @step(%ids: tensor<4x32xi64> {train.input = "ids", train.token_dim = 1 : i64}, %times: tensor<4x32xi64> {train.input = "times", train.no_tokens})
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"sp\"", "the axis of the mesh">,
    Option<"parts", "parts", "int64_t", "1", "ranks that divide the tokens">,
    Option<"attention", "attention", "std::string", "\"auto\"",
           "as --zc-find-tokens takes it">,
    ListOption<"dims", "dims", "std::string",
               "INPUT=K or INPUT=none, before what is found">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def OrderTokensPass : Pass<"zc-order-tokens", "::mlir::ModuleOp"> {
  let summary = "an early and a late chunk of the tokens for each rank (zigzag)";
  let description = [{
    Under a causal mask late tokens have more to attend to than early ones. Rank r
    gets chunks r and 2 `parts` - 1 - r, of 2 `parts` chunks of the tokens: tokens
    change places where they and their positions come in, and back where they go
    out, but in outputs that the host puts together: there `train.token_order` says
    that it puts them back. So they do for ops that read tokens in their order
    (a shifted slice, rows of experts), which want them whole anyway; where tokens
    are looked up by their numbers, only if zigzag is asked for. Integers that a
    running sum counts stay in order until an op reads them that does not make
    integers. On the programs that gradients are built from. If a ring is asked for,
    or `auto` finds it faster, a causal mask that is joined with a mask of keys, as
    of padded samples, is taken apart before, also where tokens stay in order. Where
    blocks of keys might not add up, the largest number of each query is subtracted
    from the mask.

    ```mlir
    %0 = train.gather %table, %ids {dim = 0 : i64} : (...) -> tensor<4x8x16xf32>
    // becomes, for two ranks
    %order = train.constant dense<[0, 1, 6, 7, 2, 3, 4, 5]> : tensor<8xi64>
    %1 = train.gather %ids, %order {dim = 1 : i64} : (...) -> tensor<4x8xi64>
    %0 = train.gather %table, %1 {dim = 0 : i64} : (...) -> tensor<4x8x16xf32>
    ```
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "1", "ranks that divide the tokens">,
    Option<"headParts", "head-parts", "int64_t", "1",
           "ranks that divide the heads already">,
    Option<"attention", "attention", "std::string", "\"auto\"",
           "auto (where ranks wait less than by dividing heads), ring, ring=zigzag or gather; "
           "others leave the order as it is">,
    Option<"byHand", "by-hand", "bool", "false",
           "somebody has said where tokens are: their order stays">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect", "::zc::train::TrainDialect"];
}

def SeparateRowsPass : Pass<"zc-separate-rows", "::mlir::ModuleOp"> {
  let summary = "keep samples and tokens apart where a reshape makes rows of both";
  let description = [{
    In rows [samples tokens, ..] only the samples could be divided. Ops on such
    rows are done on [samples, tokens, ..] instead: elementwise ones, broadcasts,
    sums, and products by one matrix, which then have rows of several dims until
    --zc-join-rows. Rows that several experts made of a token are [samples, tokens,
    experts, ..] where a reshape tells a token's apart.

    ```mlir
    %0 = train.reshape %x : (tensor<4x32x8xf32>) -> tensor<128x8xf32>
    %1 = train.matmul %0, %w : ... -> tensor<128x16xf32>
    %2 = train.reshape %1 : (tensor<128x16xf32>) -> tensor<4x32x16xf32>
    // becomes
    %2 = train.matmul %x, %w : (tensor<4x32x8xf32>, tensor<8x16xf32>) -> tensor<4x32x16xf32>
    ```
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def JoinRowsPass : Pass<"zc-join-rows", "::mlir::ModuleOp"> {
  let summary = "make matrices of operands whose rows have several dims";
  let description = [{
    Behind --zc-localize: libraries and code generation know products of matrices.
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_SEQUENCE_PASSES_TD
