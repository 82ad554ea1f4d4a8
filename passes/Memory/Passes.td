//===- Passes.td - what is kept for the backward, what not ----------------===//
#ifndef ZC_PASSES_MEMORY_PASSES_TD
#define ZC_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"zc-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values of the forward again instead of keeping them";
  let description = [{
    Requires programs of `train.fused` and `train.reshape`, as passes/Fusion
    leaves them. In the program that has the backward, values of the forward that
    the backward reads and that are not kept are computed a second time, just
    before their first use there, by clones of the ops that made them: the same
    kernels, hence the same bits (`shared_buffers` of forward ops are restricted
    to this end). No op runs more than twice. What is kept, by
    `policy`:

    - `layer`: what crosses from one layer to the next (layers are read off the
      modules' names, else found where a single value crosses), and the last layer
    - `sqrt`: what crosses between about sqrt(L) segments of L layers, and the last
      segment (Chen et al., arXiv:1604.06174)
    - `selective`: what libraries compute, for the rest costs little to compute
      again, and the last layer
    - `full`: of all numbers of segments, that with the least peak

    What `offload` names is marked for `--zc-offload`; with `auto`, plans keep,
    compute again or offload.

    With a `budget`, plans are tried from the quickest to the slowest until one's
    peak, after scheduling and allocation, fits; none is an error that says by how
    much. With a policy as well, that policy's plan must fit.

    ```mlir
    %h = train.fused(%x, %w) ...      // forward
    ...
    %g = train.fused(%dy, %h) ...     // backward
    // becomes
    %h = train.fused(%x, %w) ...
    ...
    %again = train.fused(%x, %w) ...
    %g = train.fused(%dy, %again) ...
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"none\"",
           "none, layer, sqrt, selective, full, or auto: the quickest that fits "
           "the budget">,
    Option<"budget", "budget", "int64_t", "0",
           "the most bytes of both regions together; 0: any">,
    Option<"offload", "offload", "std::string", "\"\"",
           "what lies in the second memory while nothing needs it: a list of "
           "optimizer, parameters, activations; or auto: what fits a budget "
           "takes">,
    Option<"prefetch", "prefetch", "int64_t", "1",
           "as in --zc-overlap-collectives, for the plan's size">
  ];
  let statistics = [
    Statistic<"numRecomputed", "num-recomputed", "Ops that run a second time">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::sched::SchedDialect"];
}

#endif // ZC_PASSES_MEMORY_PASSES_TD
