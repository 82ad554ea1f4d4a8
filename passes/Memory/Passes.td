//===- Passes.td - what is kept for the backward, what not ----------------===//
#ifndef ZC_PASSES_MEMORY_PASSES_TD
#define ZC_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputePass : Pass<"zc-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values of the forward again instead of keeping them";
  let description = [{
    Requires programs of `train.fused` and views, as passes/Fusion leaves them. It
    works on the program that has the backward. A value of the forward that the
    backward reads is either kept or computed a second time, just before its first
    use there, by a clone of the op that made it. The clone is the same kernel, and
    so makes the same bits; to this end `shared_buffers` of forward ops are
    restricted. No op runs more than twice. `policy` says which values are kept:

    - `layer`: the values that cross from one layer to the next, and those of the
      last layer. Layers are read off the modules' names, or else lie between two
      points that a single value crosses
    - `sqrt`: the values that cross between about sqrt(L) segments of L layers, and
      those of the last segment (Chen et al., arXiv:1604.06174)
    - `selective`: the values that libraries compute, since the others take little
      time, and those of the last layer
    - `full`: the values that cross between as many segments as give the least peak

    `offload` names what `--zc-offload` is to copy away; this pass marks it. If the
    plan is lower without some of these kinds of tensors, they stay where they are,
    and a note says so. With `auto` each plan chooses for itself what it keeps,
    computes again and offloads.

    With a `budget` this pass looks for the quickest plan that fits. It tries plans
    in the order of the seconds that they add to a step by the cost model, and
    takes the first whose peak, after scheduling and allocation, is within the
    budget. If no plan fits, an error says how many bytes are missing. Where
    parameters are offloaded, each plan comes in two forms: one leaves on the
    device what steps begin with (`--zc-keep-busy-states`), the other copies that
    as well, which takes less memory and more seconds. With both a budget and a
    policy, the policy's plan must fit.

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
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "how many of them share the seconds that a step's end takes">,
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
  let dependentDialects = ["::zc::dist::DistDialect", "::zc::sched::SchedDialect",
                           "::zc::train::TrainDialect"];
}

def PlanPoolPlacesPass : Pass<"zc-plan-pool-places", "::mlir::ModuleOp"> {
  let summary = "keep the places of all max pools' maxima if that lowers the plan";
  let description = [{
    A max pool's gradient goes to the maxima of its image. If the backward reads
    them off an image that was kept in fewer digits, it may find others. So where
    encodings round, pools keep the places of their maxima
    (`--zc-keep-pool-places=always`). These take memory besides the image if the
    backward reads the image for another reason, too, so that the plan may be
    larger than without encodings.

    This pass therefore plans the step twice to its end: with these places and all
    encodings, and without these places and without the encodings that round. It
    changes the pools as the lower plan has them. For `--zc-encode-kept` it marks
    the module: `train.exact_encodings` if the lower plan does not round, and
    `train.plain_peak`, the bytes that are planned without any encoding.
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
    encoded behind its last use in the forward, and decoded in front of its first
    use in the backward. The forward computes what it did before. `encodings` is a
    list:

    - `bits`: where the backward only asks for the sign of a tensor's elements, one
      bit an element
    - `sparse`, `sparse=DENSITY`: where a convolution or product of the backward
      reads what a ReLU made, its elements other than 0. There is room for DENSITY
      times all elements (0.6 by default); a run that needs more ends
    - `bf16`, `fp16`: float32 in 16 bits. Numbers beyond fp16's range become its
      largest one
    - `fp8`: floats of 32 or 16 bits as E4M3, without a scale. Numbers beyond 448
      become 448. A value is kept so only if the backward multiplies it, adds it
      up, or asks for its own sign; it may do the same with what it computes again
      from the value, but may not ask for the sign of a sum

    If several encodings may keep a value, the first of this order does: `bits`,
    `sparse`, `fp8`, 16 bits.

    Some ops of the backward need a decoded value as a whole. If only one op needs
    it, that op moves in front of the others that read the same gradient: so the
    decoded value is gone when they make theirs.

    `partition` names an axis of the mesh. Where all ranks along it compute the same
    value, each keeps a part, and they gather the value for the backward.

    Small values stay as they are. This pass takes the part of the list, `partition`
    included, whose planned peak is the least; a note says what it leaves out.
    Then it leaves out encodings that do not lower the peak, some values at a time.

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
