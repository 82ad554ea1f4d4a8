//===- Passes.td - what ranks send one another ----------------------------===//
#ifndef ZC_PASSES_COLLECTIVES_PASSES_TD
#define ZC_PASSES_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertCollectivesPass : Pass<"zc-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "move what is divided otherwise than an op wants it";
  let description = [{
    Requires `--zc-propagate-sharding`. Once for every division of a value that
    users want, in front of the first of them. Types stay those of the whole
    tensors. With `gradients`, floats that are sent as gradients are added up in
    that type, between two conversions.

    ```mlir
    %g = train.matmul %x, %dy {dist.results = [#dist.sharding<_,_ unreduced dp>]}
    %w1 = train.sub %w, %g {dist.operands = [..., #dist.sharding<_,_>]}
    // becomes
    %g = train.matmul %x, %dy
    %0 = dist.all_reduce %g {axes = ["dp"], traffic = "gradients"}
    %w1 = train.sub %w, %0
    ```
  }];
  let options = [
    Option<"gradients", "gradients", "std::string", "\"\"",
           "the type that gradients are reduced in, fp32 or bf16; default their own">,
    Option<"sumsWhole", "sums-whole", "bool", "false",
           "every rank gets whole sums of gradients, and keeps its part of them">
  ];
  let statistics = [
    Statistic<"numCollectives", "num-collectives", "Collectives inserted">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def FoldCollectivesPass : Pass<"zc-fold-collectives", "::mlir::ModuleOp"> {
  let summary = "make one of collectives that meet";
  let description = [{
    On whole tensors, before `--zc-verify-sharding` proves the result. A sum of
    which a part is taken is scattered, a scattered one that is gathered is summed
    up, what is gathered and divided again is left as it was; sums along two axes
    are one, and terms are added up before they are sent.

    ```mlir
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients"}
    %2 = dist.slice %1 {axes = ["dp"], dim = 0}
    // becomes
    %2 = dist.reduce_scatter %0 {axes = ["dp"], dim = 0, traffic = "gradients"}
    ```
  }];
  let statistics = [
    Statistic<"numFolded", "num-folded", "Collectives that are gone">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def LocalizePass : Pass<"zc-localize", "::mlir::ModuleOp"> {
  let summary = "give every value the type of what one rank holds";
  let description = [{
    Arguments, results and states keep the whole tensor's type in `dist.whole`
    where it differs. A rank's coordinates are scalar states (`coordinate`)
    that the runtime writes: one program serves all ranks.
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def BroadcastPartsPass : Pass<"zc-broadcast-parts", "::mlir::ModuleOp"> {
  let summary = "send what one rank holds from that rank alone";
  let description = [{
    After `--zc-localize` and a canonicalization. All-gathers along dim 0 of which
    every user reads one and the same rank's part become a broadcast from it: the
    running statistics of `--batchnorm-stats local` are those of the first rank. If
    no other exchange depends on it, it moves to the end of the program.

    ```mlir
    %1 = dist.all_gather %0 {dim = 0} : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %2 = train.slice %1 {offsets = array<i64: 0, 0>} : ... -> tensor<1x8xf32>
    // becomes
    %2 = dist.broadcast %0 {root = 0} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def ServeParametersPass : Pass<"zc-serve-parameters", "::mlir::ModuleOp"> {
  let summary = "let one rank along dp update the parameters for all";
  let description = [{
    After `--zc-localize`, where the module has `dist.server`. Sums of gradients go
    to the first rank along dp alone, the parameter server; what it makes of them
    and the others need too, it sends to them. Without gradients' sums other ranks
    compute nothing of meaning there: `--zc-split-server` leaves it out of theirs.

    ```mlir
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients"}
    %2 = train.sub %w, %1 // the new @w
    // becomes
    %1 = dist.reduce %0 {axes = ["dp"], root = 0, traffic = "gradients"}
    %2 = train.sub %w, %1
    %3 = dist.broadcast %2 {axes = ["dp"], root = 0, traffic = "parameters"}
    ```
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def JoinReductionsPass : Pass<"zc-join-reductions", "::mlir::ModuleOp"> {
  let summary = "send small sums together";
  let description = [{
    After `--zc-localize`. All-reduces of gradients, those of scalars, gathers of
    one number a rank of which the largest is taken, and broadcasts of statistics,
    along the same axes and of one element type become one of a flat vector, where
    the last of them stands, if nobody reads one of them before. Gathers of which
    only the largest magnitude is used become such ones before, along all of
    their axes at once, and count as statistics. Gradients are joined up to `bucket-bytes`; one as large as that
    stays alone.

    ```mlir
    %2 = dist.all_reduce %0 {traffic = "gradients"} : (tensor<4xf32>) ...
    %3 = dist.all_reduce %1 {traffic = "gradients"} : (tensor<8xf32>) ...
    // becomes
    %4 = train.concat %0, %1 {dim = 0} : ... -> tensor<12xf32>
    %5 = dist.all_reduce %4 {traffic = "gradients"}
    %2 = train.slice %5 {offsets = array<i64: 0>} : ... -> tensor<4xf32>
    %3 = train.slice %5 {offsets = array<i64: 4>} : ... -> tensor<8xf32>
    ```
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "1048576",
           "the most bytes of gradients that are sent together">,
    Option<"fewest", "fewest", "int64_t", "1",
           "the most is this part of all gradients, so that the first are sent "
           "long before the last are there">
  ];
  let statistics = [
    Statistic<"numJoined", "num-joined", "Exchanges that are gone">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

def CutReductionsPass : Pass<"zc-cut-reductions", "::mlir::ModuleOp"> {
  let summary = "send large sums piece by piece";
  let description = [{
    After `--zc-localize`. A reduction of a gradient that is widened to be sent,
    and of more than `bytes` then, becomes several of pieces, so that no buffer on
    the way to other ranks is larger. A vector that is packed of one gradient
    alone is that gradient.

    ```mlir
    %1 = train.convert %0 {train.staging} : (tensor<8xbf16>) -> tensor<8xf32>
    %2 = dist.all_reduce %1 {traffic = "gradients"}
    %3 = train.convert %2 : (tensor<8xf32>) -> tensor<8xbf16>
    // becomes, with bytes=16, for the first of two pieces
    %4 = train.slice %0 {offsets = array<i64: 0>} : ... -> tensor<4xbf16>
    %5 = train.convert %4 : ... -> tensor<4xf32>
    %6 = dist.all_reduce %5 {traffic = "gradients"}
    %7 = train.convert %6 : ... -> tensor<4xbf16>
    %3 = train.concat %7, ... {dim = 0}
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0",
           "the most bytes of a buffer that is sent; 0: any">
  ];
  let statistics = [
    Statistic<"numCut", "num-cut", "Reductions that are cut">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

#endif // ZC_PASSES_COLLECTIVES_PASSES_TD
