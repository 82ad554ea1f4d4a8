//===- Passes.td - who holds which part of what ---------------------------===//
#ifndef ZC_PASSES_SHARDING_PASSES_TD
#define ZC_PASSES_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnnotateMeshPass : Pass<"zc-annotate-mesh", "::mlir::ModuleOp"> {
  let summary = "set the mesh and divide the batch and its tokens";
  let description = [{
    Sets `dist.mesh` and divides the dim that counts samples of every input over
    the axes `batch-axes`, the one that counts tokens over `token-axis`.

    ```mlir
    func.func @step(%x: tensor<8x4xf32> {train.input = "x", train.batch_dim = 0})
    // becomes, with mesh = "dp=2"
    func.func @step(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<dp,_>, ...})
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "axes with sizes, slowest first: dp=4,tp=2">,
    ListOption<"batchAxes", "batch-axes", "std::string",
               "the axes that divide the batch; default dp and ep">,
    Option<"tokenAxis", "token-axis", "std::string", "\"sp\"",
           "the axis that divides tokens">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def ApplyZeroPass : Pass<"zc-apply-zero", "::mlir::ModuleOp"> {
  let summary = "pack parameters into flat vectors that are divided among ranks";
  let description = [{
    Requires `@step` with gradients and the mesh. The parameters of a *unit* (a
    layer; with small ones beside it; one type, decayed or not) become slices of
    one vector, padded to divide evenly over `axes`, their gradients one vector
    too. In stage 1 its moments are divided, in stage 2 its gradient too, in stage
    3 itself: it is then gathered before the forward reads it, again before the
    backward does (but the unit that the forward needs last), and reduced as soon
    as all of its gradients are there. The parameters' own states move to the
    nested module `@units`, for files.

    With `by-dims` every parameter is a unit by itself and keeps its shape: the
    first of its dims that divides evenly is divided, for optimizers that look at
    rows and columns. A parameter without such a dim stays whole, with a note.

    ```mlir
    train.state @unit.0 "parameter" : tensor<16xf32>
      {dist.moments = #dist.sharding<dp>, dist.sharding = #dist.sharding<dp>}
    %0 = dist.reshard %unit {dist.sharding = #dist.sharding<_>}
    %w = train.slice %0 {offsets = array<i64: 0>} : ... -> tensor<12xf32>
    ```
  }];
  let options = [
    Option<"stage", "stage", "int64_t", "1", "1, 2 or 3">,
    ListOption<"axes", "axes", "std::string", "the axes that divide units">,
    Option<"unit", "unit", "std::string", "\"auto\"",
           "auto, layer or a number of bytes">,
    Option<"byDims", "by-dims", "bool", "false",
           "divide a dim of each parameter, instead of vectors of several">,
    Option<"mostBytes", "most-bytes", "int64_t", "0",
           "units of several parameters are no larger; 0: as large as may be">,
    Option<"reshardAfterForward", "reshard-after-forward", "bool", "true",
           "gather a second time for the backward">,
    Option<"reshardLast", "reshard-last", "bool", "false",
           "gather a second time what the forward needs last too">,
    Option<"late", "late", "bool", "false",
           "keep whole gradients until all are there">,
    Option<"keepsMoments", "keeps-moments", "bool", "false",
           "units as in stage 1, but of moments that no rank divides: one rank "
           "updates them all">,
    Option<"gathersWide", "gathers-wide", "bool", "false",
           "in stage 3, gather float32 also where every reader rounds it">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

def ExplainShardingPass : Pass<"zc-explain-sharding", "::mlir::ModuleOp"> {
  let summary = "write down how every tensor is divided, and why";
  let description = [{
    Before `--zc-localize`. The module gets `dist.divisions`: states, inputs and
    the values of the first program that computes them, by their names; and a note
    for every activation that is gathered whole.
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def DivideMessagesPass : Pass<"zc-divide-messages", "::mlir::ModuleOp"> {
  let summary = "send each rank's share of what an axis' ranks have whole";
  let description = [{
    A role of a pipeline sends tensors that all ranks of `axis` have whole: each
    would send the same bytes. Messages are divided over the axis instead, along the
    first dim behind the samples' that divides; the other end gathers what it
    needs whole, over links that are mostly faster (Narayanan et al. 2021, section
    4.1). Both ends decide by the tensor's type, which is the same.

    ```mlir
    func.func @forward(%h: tensor<8x4xf32> {train.receive = {...}, train.batch_dim = 0})
    // becomes, with axis = "tp"
    func.func @forward(%h: tensor<8x4xf32> {dist.sharding = #dist.sharding<_,tp>, ...})
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tp\"",
           "the axis that has messages whole">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def OrderRowsPass : Pass<"zc-order-rows", "::mlir::ModuleOp"> {
  let summary = "rows of tokens and samples begin with the samples";
  let description = [{
    A rank's samples are no range of rows [tokens samples, ..]: it would gather
    all. Where only reshapes see the order of rows, they are made of [samples,
    tokens, ..]; transposes of dim 0 sink below elementwise ops, reshapes and
    slices until they meet those that bring the samples back to the front.

    ```mlir
    %0 = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x32x8xf32>) -> tensor<32x4x8xf32>
    %1 = train.reshape %0 : (tensor<32x4x8xf32>) -> tensor<128x8xf32>
    %2 = train.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
    %3 = train.reshape %2 : (tensor<128x16xf32>) -> tensor<32x4x16xf32>
    // becomes
    %1 = train.reshape %x : (tensor<4x32x8xf32>) -> tensor<128x8xf32>
    %2 = train.matmul %1, %w : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
    %3 = train.reshape %2 : (tensor<128x16xf32>) -> tensor<4x32x16xf32>
    %4 = train.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<4x32x16xf32>) -> tensor<32x4x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numOrdered", "num-ordered", "Reshapes that merge samples first">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def PropagateShardingPass : Pass<"zc-propagate-sharding", "::mlir::ModuleOp"> {
  let summary = "decide how every value is divided, by the ops' sharding rules";
  let description = [{
    From the arguments forwards through every op's rule; then backwards, to what
    every rank has whole but only needs in part. Every op gets `dist.operands`,
    the shardings it asks for, and `dist.results`. An op that wants whole what is
    divided is replaced by finer ops where it has such. Gradients of parameters,
    and sums that an op's finer form takes, are reduced where they are computed
    (`dist.reshard`); other unreduced values where an op is not linear in them.
    Accumulators stay unreduced where what is added to them is.

    An op with `dist.exchange` works on a part of another dim than the one that
    its operands are divided along, and its results are moved back.

    Nothing is moved: that is `--zc-insert-collectives`.
  }];
  let options = [
    Option<"checksTerms", "checks-terms", "bool", "false",
           "for tests: find anew, wherever it is asked, which values are terms "
           "of gradients, and fail where what was kept says otherwise">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def ShardParametersPass : Pass<"zc-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "find which dims of the parameters an axis divides";
  let description = [{
    Requires the mesh, and `@step` before its backward. Dims that the ops'
    sharding rules tie together (the features between two linear layers, the
    heads of an attention) are divided over `axis` where that moves no value but
    sums; of two such sets that meet in a tensor, the one that saves more. Heads
    that several queries share, and that do not divide, are repeated, from their
    parameters on, which stay whole, for as many ranks as divide the queries.

    ```mlir
    train.state @w1 "parameter" : tensor<16x4xf32>
    // becomes, with axis = "tp"
    train.state @w1 "parameter" : tensor<16x4xf32>
      {dist.sharding = #dist.sharding<tp,_>, why = "..."}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tp\"", "the axis of the mesh">,
    Option<"automatic", "automatic", "bool", "true",
           "divide what nobody annotated, too">,
    Option<"repeats", "repeats", "bool", "true",
           "repeat heads that queries share, so that they divide">,
    Option<"shard", "shard", "std::string", "\"\"",
           "annotations of tensors, w1=-,tp;w2=..., that others follow; first "
           "of all">,
    Option<"patterns", "patterns", "std::string", "\"\"",
           "the same of all tensors whose names a regular expression finds; "
           "the first that fits counts">
  ];
  let statistics = [
    Statistic<"numClasses", "num-classes", "Sets of dims that are divided">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def VerifyShardingPass : Pass<"zc-verify-sharding", "::mlir::ModuleOp"> {
  let summary = "prove that a divided program computes what the whole one does";
  let description = [{
    For every op: operands are divided as it asks, and what it asks follows its
    rule: dims of one factor alike, whole dims whole; no unreduced value passes an
    op that is not linear in it, meets one that is not a sum of terms over the
    same axes, or is returned as whole.
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

#endif // ZC_PASSES_SHARDING_PASSES_TD
