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
           "fp32 or bf16: what gradients are reduced in; default their own type">
  ];
  let statistics = [
    Statistic<"numCollectives", "num-collectives", "Collectives inserted">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

def LocalizePass : Pass<"zc-localize", "::mlir::ModuleOp"> {
  let summary = "give every value the type of what one rank holds";
  let description = [{
    Arguments, results and states keep the whole tensor's type in `dist.whole`
    where it differs. A rank's coordinates are scalar states (`dist.coordinate`)
    that the runtime writes: one program serves all ranks.
  }];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

#endif // ZC_PASSES_COLLECTIVES_PASSES_TD
