//===- Passes.td - what is kept for the backward, what not ----------------===//
#ifndef ZC_PASSES_MEMORY_PASSES_TD
#define ZC_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"zc-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values of the forward again instead of keeping them";
  let description = [{
    Requires programs of `train.fused` and views, as passes/Fusion leaves them. In the program that has the backward, values of the forward that
    the backward reads and that are not kept are computed a second time, just
    before their first use there, by clones of the ops that made them: the same
    kernels, hence the same bits (`shared_buffers` of forward ops are restricted
    to this end). No op runs more than twice. The values kept, by
    `policy`:

    - `layer`: those that cross from one layer to the next (layers are read off the
      modules' names, else found where a single value crosses), and the last layer
    - `sqrt`: those that cross between about sqrt(L) segments of L layers, and the
      last segment (Chen et al., arXiv:1604.06174)
    - `selective`: those that libraries compute, as the rest costs little to
      recompute, and the last layer
    - `full`: of all numbers of segments, that with the least peak

    The tensors that `offload` names are marked for `--zc-offload`; with `auto`, plans keep,
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
    Option<"encodings", "encodings", "std::string", "\"none\"",
           "as in --zc-encode-kept, for the plan's size">,
    Option<"partition", "partition", "std::string", "\"\"",
           "as in --zc-encode-kept, for the plan's size">
  ];
  let statistics = [
    Statistic<"numRecomputed", "num-recomputed", "Ops that run a second time">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::sched::SchedDialect"];
}

def PlanPoolPlacesPass : Pass<"zc-plan-pool-places", "::mlir::ModuleOp"> {
  let summary = "keep the places of all max pools' maxima if that lowers the plan";
  let description = [{
    An image that is kept in fewer digits has other maxima: where encodings round,
    gradients of max pools go by places (`--zc-keep-pool-places=always`). Where the
    backward reads an image for something else as well, the places come on top of
    it. So this pass plans in both ways: with these places and all encodings, and
    with neither them nor an encoding that rounds. It does to the module what
    belongs to the lower plan, and says to `--zc-encode-kept` which that is
    (`memory.exact`) and what is planned without encodings (`memory.plain_peak`).
  }];
  let options = [
    Option<"encodings", "encodings", "std::string", "\"none\"",
           "as in --zc-encode-kept">
  ];
  let dependentDialects = ["::zc::dist::DistDialect", "::zc::sched::SchedDialect",
                           "::zc::train::TrainDialect"];
}

def EncodeKeptPass : Pass<"zc-encode-kept", "::mlir::ModuleOp"> {
  let summary = "keep values for the backward in fewer bytes";
  let description = [{
    Requires programs as `--zc-recompute` leaves them, with its marks on values to
    be offloaded. A value that the forward computes and the backward reads is
    encoded behind its last use in the forward and decoded in front of its first
    in the backward; the forward stays as it is. `encodings` is a list:

    - `bits`: if the backward needs only the sign of a tensor, store one bit per
      element
    - `sparse`, `sparse=DENSITY`: a ReLU's result that a convolution or product of
      the backward reads, without its zeros; there is room for DENSITY times all
      elements, 0.6 by default, and a run that needs more ends
    - `bf16`, `fp16`: float32 in 16 bits; numbers beyond fp16's range become its
      largest one
    - `fp8`: floats of 32 and 16 bits as E4M3, without a scale, of which the
      backward makes sums and products, also by what it computes again from them,
      or whose own sign it asks, not that of a sum of them; numbers beyond 448
      become 448

    The first of several that may keep a value does, and `fp8` comes before 16 bits.
    Where one op of the backward alone needs a decoded value, it comes before others
    that read the same gradient: the value has gone when these make theirs.

    `partition` names an axis of the mesh: if all its ranks compute a value, each
    keeps a part, and they gather it for the backward. Small values stay as they
    are; and encodings that do not lower the planned peak are left out, some values
    at a time.

    ```mlir
    %h = train.fused(%x) { train.exp }            // forward
    %y = train.fused(%h, %w) {library = ...}
    ...
    %dx = train.fused(%dh, %h) { train.mul }      // backward
    // becomes, with encodings=bf16
    %h:2 = train.fused(%x) { train.exp, train.convert } // f32, bf16
    %y = train.fused(%h#0, %w) {library = ...}
    ...
    %dx = train.fused(%dh, %h#1) { train.convert, train.mul }
    ```
  }];
  let options = [
    Option<"encodings", "encodings", "std::string", "\"none\"",
           "none, or a list of bits, sparse[=DENSITY], bf16, fp16, fp8">,
    Option<"partition", "partition", "std::string", "\"\"",
           "the axis that divides what its ranks all have; empty: none">,
    Option<"all", "all", "bool", "false",
           "encode also what does not lower the peak">
  ];
  let statistics = [
    Statistic<"numEncoded", "num-encoded", "Values kept encoded">
  ];
  let dependentDialects = ["::zc::dist::DistDialect", "::zc::sched::SchedDialect",
                           "::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_MEMORY_PASSES_TD
