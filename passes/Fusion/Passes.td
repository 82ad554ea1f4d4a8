//===- Passes.td - which values exist -------------------------------------===//
#ifndef ZC_PASSES_FUSION_PASSES_TD
#define ZC_PASSES_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayoutsPass : Pass<"zc-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "put the channels of images last";
  let description = [{
    Libraries are faster on [N, spatial..., C]. Every convolution, pool and batch
    normalisation becomes a channels-last one between two transposes; transposes
    then sink through elementwise ops and cancel, so that they are left only where
    images enter and leave.

    ```mlir
    %1 = train.conv %x, %f {...} : (tensor<8x3x32x32xf32>, ...)
    // becomes
    %0 = train.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
    %1 = train.conv %0, %f {channels_last, ...} : (tensor<8x32x32x3xf32>, ...)
    %2 = train.transpose %1 {permutation = array<i64: 0, 3, 1, 2>}
    ```
  }];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Ops made channels-last">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def JoinCallsPass : Pass<"zc-join-calls", "::mlir::ModuleOp"> {
  let summary = "ops that one library call computes together become a region";
  let description = [{
    Requires layouts. A file of `passes/Fusion/Joined` finds the ops of one kind of
    call, and asks the target for its name. The region has `library` and `joined`.

    Norms: a batch norm of channels-last images in 16 bits with a ReLU behind it,
    and perhaps a sum with another image before that, becomes a region, and so does
    its gradient with that of a ReLU right behind it, which is computed from the
    image again: the ReLU's result is not read. They leave and read the inverse
    deviation, 1 / sqrt(variance + epsilon), in place of the variance.

    ```mlir
    %n, %m, %v = train.batch_norm_training %x, %s, %b
    %y = train.relu %n
    %g = train.select (train.compare "gt" %y, 0), %dy, 0
    %dx, %ds, %db = train.batch_norm_grad %x, %s, %m, %v, %g
    // becomes
    %y, %m, %i = train.fused(%x, %s, %b) {joined = {norm = {}}, library = "cudnn.norm"} {
      train.batch_norm_training; train.relu; ... }
    %dx, %ds, %db = train.fused(%x, %s, %b, %m, %i, %dy) {joined = {norm = {}},
        library = "cudnn.norm"} { ...; train.batch_norm_grad }
    ```
  }];
  let statistics = [
    Statistic<"numJoined", "joined", "Regions that library calls compute">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

def SplitBatchNormPass : Pass<"zc-split-batch-norm", "::mlir::ModuleOp"> {
  let summary = "batch normalisation as sums by parts and elementwise ops";
  let description = [{
    A batch norm of channels-last images with the batch's own statistics, and its
    gradient, become sums over parts of the rows, which are summed in order, and
    elementwise ops, which join the regions around them.

    ```mlir
    %y, %m, %v = train.batch_norm_training %x, ... : (tensor<8x56x56x64xf32>, ...)
    // becomes
    %p = train.reshape %x : (tensor<8x56x56x64xf32>) -> tensor<98x256x64xf32>
    %means, %deviations = train.channel_moments %p
    %s = train.reduce %means {dims = array<i64: 0>, kind = "sum"}
    // ... %m, %v, and (x - m) factor + bias
    ```

    On GPUs parts have more rows, and images in 16 bits are split too: sums are of
    float32, and conversions cost nothing.
  }];
  let statistics = [
    Statistic<"numSplit", "num-split", "Batch normalisations split">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

def KeepPoolPlacesPass : Pass<"zc-keep-pool-places", "::mlir::ModuleOp"> {
  let summary = "keep where maxima lie instead of what a max pool has read";
  let description = [{
    A max_pool whose gradient reads its image, which the backward reads for nothing
    else but whether it is above 0, gives the places of its maxima too, and the
    gradient goes by these. Where the image is a ReLU's result, the slope of the
    ReLU is taken from the maxima: elsewhere no gradient arrives. The gradients
    stay the same, bit for bit. (Gist's Binarize, Jain et al. 2018.) With `always`
    whatever else reads the image: what is to be kept in fewer digits has other
    maxima, and more of them.

    ```mlir
    %p = train.max_pool %r {...}
    ...
    %d = train.max_pool_grad %r, %p, %g {...}
    %m = train.compare "gt" %r, %zeros
    %x = train.select %m, %d, %zeros
    // becomes
    %p, %places = train.max_pool_places %r {...}
    ...
    %m = train.compare "gt" %p, %few_zeros
    %s = train.select %m, %g, %few_zeros
    %x = train.max_pool_places_grad %places, %s {...}
    ```
  }];
  let options = [
    Option<"always", "always", "bool", "false",
           "also where the backward reads the image for something else">
  ];
  let statistics = [
    Statistic<"numKept", "num-kept", "Pools that keep places">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def AccumulateInPlacePass : Pass<"zc-accumulate-in-place", "::mlir::ModuleOp"> {
  let summary = "let products add to what accumulates";
  let description = [{
    After `--zc-localize`. A train.add that is `in_place` of a product
    that nothing else reads, perhaps converted to the sum's float32, becomes a
    product that starts from that sum. Micro-batches add up gradients so, and so
    do the chunks of a loss. With `on-host` the host adds those of micro-batches up,
    and products give their terms alone.

    ```mlir
    %g = train.matmul %x, %dy {transpose_lhs} : (tensor<64x8xbf16>, ...) -> tensor<8x4xbf16>
    %w = train.convert %g : (tensor<8x4xbf16>) -> tensor<8x4xf32>
    %s = train.add %sum, %w {in_place}
    // becomes
    %s = train.matmul_add %sum, %x, %dy {transpose_lhs} : (tensor<8x4xf32>, tensor<64x8xbf16>, ...) -> tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"onHost", "on-host", "bool", "false",
           "whether the host adds up what micro-batches leave">
  ];
  let statistics = [
    Statistic<"numInPlace", "num-in-place", "Products that add to a sum">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def ChunkCrossEntropyPass : Pass<"zc-chunk-cross-entropy", "::mlir::ModuleOp"> {
  let summary = "a last linear layer and its loss, some samples at a time";
  let description = [{
    Logits, their gradient and all tensors of the same samples and classes between
    them are made and read by ops that work sample by sample, or that sum over the
    samples: the sharding rules say so. All of these are done in chunks of samples,
    so that no such tensor ever exists whole. They may be capped, scaled, masked, or
    have a bias. The target says how many samples a chunk has at most. Gradients of
    the weights add up over the chunks in place. Logits of fewer than `min-bytes` are
    left alone, as are those of which an op wants all samples at once.

    Before tensors are divided among ranks, with `axis`: only where that axis
    divides the classes, for then no rank has a loss of its own to chunk. A chunk
    has of each of `sample-parts` ranks as many samples, and what it adds to a
    sum is added by train.add, which `--zc-accumulate-in-place` makes part of the
    product.

    ```mlir
    %l = train.matmul %x, %w {transpose_rhs} : (tensor<1024x768xf32>, ...)
    %loss, %lse = train.softmax_cross_entropy %l, %labels ...
    %g = train.softmax_cross_entropy_grad %l, %labels, %lse, %grad ...
    %dw = train.matmul %g, %x {transpose_lhs} ...
    // becomes, for the second of two chunks
    %x1 = train.slice %x {offsets = array<i64: 512, 0>, ...}
    %l1 = train.matmul %x1, %w {transpose_rhs} : (tensor<512x768xf32>, ...)
    // ... %g1
    %dw = train.matmul_add %dw0, %g1, %x1 {transpose_lhs} ...
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "33554432",
           "bytes of logits, of one rank's part, from which on they are split">,
    Option<"axis", "axis", "std::string", "\"\"",
           "only classes that this axis of the mesh divides">,
    Option<"sampleParts", "sample-parts", "int64_t", "1",
           "how many ranks divide the samples">
  ];
  let statistics = [
    Statistic<"numChunked", "num-chunked", "Losses split into chunks">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

def RepeatCheapOpsPass : Pass<"zc-repeat-cheap-ops", "::mlir::ModuleOp"> {
  let summary = "compute again what is made of one tensor in memory";
  let description = [{
    For GPUs. An elementwise op that several elementwise ops read, and that is
    computed of one large tensor, splat constants and copies of small values, is
    marked `train.repeated`: every region that reads it computes it, and it is
    never in memory. A conversion between 16 and 32 bits moves to the other side of
    a reshape where there the wider form stays in registers.

    ```mlir
    %s = train.sigmoid %g : tensor<8192x8192xbf16>
    %a = train.mul %g, %s : ...
    // becomes, where %s and %a are read by the backward, too
    %s = train.sigmoid %g {train.repeated} : tensor<8192x8192xbf16>
    %a = train.mul %g, %s {train.repeated} : ...
    ```
  }];
  let statistics = [
    Statistic<"numRepeated", "num-repeated", "Ops that are computed again">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def SpreadExpertSlotsPass : Pass<"zc-spread-expert-slots", "::mlir::ModuleOp"> {
  let summary = "give rows of experts their places all at once";
  let description = [{
    For GPUs. `train.expert_slots`, a loop over rows, becomes running sums over
    rows in the order in which they get room: counts [groups, rows, experts] of 4
    bytes, of at most 2^24 elements; with more it stays.

    ```mlir
    %slots, %rows, %counts = train.expert_slots %groups ...
    // becomes
    %one = train.compare "eq" %groups, %experts
    %sum = %one + one row before + two rows before + ...
    %place = sum over experts of %one * %sum, less 1
    ```
  }];
  let statistics = [
    Statistic<"numSpread", "num-spread", "Ops replaced">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def SortExpertRowsPass : Pass<"zc-sort-expert-rows", "::mlir::ModuleOp"> {
  let summary = "say where the rows of each expert are";
  let description = [{
    For GPUs. Products of experts' rows get the order of these rows by experts,
    and how many each expert has: from a GPU's memory its teams read which rows
    they multiply. Products by the same groups have one order.

    ```mlir
    %1 = train.grouped_matmul %x, %w, %groups, %ids
    // becomes
    %ends = how many of %groups are %ids[0]; that, or %ids[1]; ...
    %order = train.expert_order %groups, %ids, %ends
    %1 = train.grouped_matmul %x, %w, %groups, %ids, %order, %ends
    ```
  }];
  let statistics = [
    Statistic<"numSorted", "num-sorted", "Orders made">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def FormRegionsPass : Pass<"zc-form-regions", "::mlir::ModuleOp"> {
  let summary = "group ops into the regions that become kernels";
  let description = [{
    Afterwards the ops of a program are `train.fused`, views (`train.reshape`, and
    `train.slice` where it is a part without gaps of a state or of weights that were
    gathered) and the return. Elementwise ops of one shape that feed one another form one
    region; every other op one of its own. Splat constants are cloned into the
    regions that use them; other constants become states of kind constant.
    `shared_buffers` says which operands a region may overwrite.
  }];
  let statistics = [
    Statistic<"numRegions", "num-regions", "Regions formed">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def CompactTableGradientsPass
    : Pass<"zc-compact-table-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients of tables without the rows that no sample reads";
  let description = [{
    Requires regions. Where a gradient of a table is added up from zeros and read
    by regions that go through it row by row (updates, norms), and its rows are at
    least four times as many as a batch reads: these are numbered, added up in a
    table of their own with a row of zeros behind them, and looked up by number
    where the gradient was read. Results stay the same bit for bit. A gradient that
    others read too, collectives or an accumulator, is left alone.

    ```mlir
    %g = train.fused(%ids, %u) {             // : tensor<50257x768xf32>
      train.scatter_add %zeros, %ids, %u {dim = 0} }
    %w1 = train.fused(%w, %g) { train.sub %w, %g }
    // becomes
    %numbers = train.fused(%ids, %iota) {    // : tensor<50257xi64>
      train.scatter_reduce "min" %last, %ids, %iota {dim = 0} }
    %places = train.fused(%numbers, %ids) { train.gather %numbers, %ids {dim = 0} }
    %sums = train.fused(%places, %u) {       // : tensor<1025x768xf32>
      train.scatter_add %zeros, %places, %u {dim = 0} }
    %w1 = train.fused(%w, %sums, %numbers) {
      %g = train.gather %sums, %numbers {dim = 0}
      train.sub %w, %g }
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "1048576",
           "bytes of a gradient from which on it is compacted">
  ];
  let statistics = [
    Statistic<"numCompacted", "num-compacted", "Gradients compacted">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def ComputeSlicesPass : Pass<"zc-compute-slices", "::mlir::ModuleOp"> {
  let summary = "compute parts of a value where only parts of it are read";
  let description = [{
    Requires regions. Where slices, of no more elements together, alone read what
    elementwise ops compute, each slice's region computes its part itself, from
    slices of the operands, and the whole never exists: so q, k and v of one matrix
    get their bias on the way to where they go.

    ```mlir
    %y = train.fused(%x, %b) {                   // : tensor<64x768xf32>
      train.add %x, (train.broadcast %b) }
    %k = train.fused(%y) { train.slice %y {offsets = [0, 256]} }
    // becomes, and so for the other slices
    %k = train.fused(%x, %b) {                   // : tensor<64x256xf32>
      %part = train.slice %x {offsets = [0, 256]}
      %bias = train.slice %b {offsets = [256]}
      train.add %part, (train.broadcast %bias) }
    ```
  }];
  let statistics = [
    Statistic<"numComputed", "num-computed", "Slices that compute their part">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def FoldRowSumsPass : Pass<"zc-fold-row-sums", "::mlir::ModuleOp"> {
  let summary = "sum rows in the region that reads them anyway";
  let description = [{
    Requires regions. A region of one reduction of all but the leading dims of a
    value joins a loop nest that reads the same value in place and does not wait
    for the reduction: the norm of a gradient is computed by its update, in one
    pass over memory. The sums come first in the region, so what may share buffers
    stays the same.

    ```mlir
    %n = train.fused(%g) { train.reduce "sum_square" %g {dims = [1]} }
    %w1 = train.fused(%w, %g) { train.sub %w, %g }
    // becomes
    %w1, %n = train.fused(%w, %g) {
      train.sub %w, %g
      train.reduce "sum_square" %g {dims = [1]} }
    ```
  }];
  let statistics = [
    Statistic<"numFolded", "num-folded", "Reductions folded into loop nests">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def PadHeadsPass : Pass<"zc-pad-heads", "::mlir::ModuleOp"> {
  let summary = "attention's keys and values as wide as one another, for libraries";
  let description = [{
    An attention that the target's library computes, whose values are not as wide as
    its keys (DeepSeek's latent attention), gets zeros behind the narrower of them,
    and a slice of its results. After --zc-localize, so that what ranks send one
    another stays as it was.

    ```mlir
    %y, %s = train.attention %q, %k, %v {scale = 1.0 : f64}
        : (tensor<2x8x4x12xf32>, tensor<2x8x4x12xf32>, tensor<2x8x4x8xf32>)
        -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
    // becomes
    %0 = train.pad %v {interior = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 0, 0, 0>}
        : (tensor<2x8x4x8xf32>) -> tensor<2x8x4x12xf32>
    %1, %s = train.attention %q, %k, %0 {scale = 1.0 : f64} : ...
    %y = train.slice %1 {offsets = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}
        : (tensor<2x8x4x12xf32>) -> tensor<2x8x4x8xf32>
    ```
  }];
  let statistics = [Statistic<"numPadded", "num-padded", "Attentions padded">];
  let dependentDialects = ["::zc::sched::SchedDialect", "::zc::train::TrainDialect"];
}

def WidenProductsPass : Pass<"zc-widen-products", "::mlir::ModuleOp"> {
  let summary = "compute in float32 what libraries do not in 16 bits";
  let description = [{
    Products and attention that the target's library has in float32 alone, though
    their operands are stored in 16 bits, get conversions around them. On CPUs
    that is fp16 throughout, and bf16 where the target lacks avx512bw: with avx2
    not in attention without a mask, nor in products of two matrices, unless they
    add to sums of bf16. On GPUs it is attention's gradient, products and
    convolutions where no library computes them: generated code adds up in
    float32, in memory that a team does not have.

    ```mlir
    %y = train.matmul %a, %b : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
    // becomes
    %0 = train.convert %a : (tensor<8x4xf16>) -> tensor<8x4xf32>
    %1 = train.convert %b : (tensor<4x4xf16>) -> tensor<4x4xf32>
    %2 = train.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %y = train.convert %2 : (tensor<8x4xf32>) -> tensor<8x4xf16>
    ```
  }];
  let statistics = [
    Statistic<"numWidened", "num-widened", "Ops computed in float32">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

def SelectLibraryCallsPass
    : Pass<"zc-select-library-calls", "::mlir::ModuleOp"> {
  let summary = "give matmuls and convolutions to a library";
  let description = [{
    A region that is one op that the target's library computes gets `library` and
    a bound on the library's workspace. For the CPU: oneDNN, for float32 and
    bfloat16. For CUDA: cuBLASLt and cuDNN, for float32, bfloat16 and float16.
  }];
  let statistics = [
    Statistic<"numCalls", "num-calls", "Regions given to a library">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

def SplitSumsPass : Pass<"zc-split-sums", "::mlir::ModuleOp"> {
  let summary = "sums over many rows as sums of sums, for GPUs";
  let description = [{
    Requires regions. A region that ends with a sum over the first dims of a large
    value leaves sums per index of the first of them, and another region adds
    these up: teams of threads then have rows as well as columns to divide.

    ```mlir
    %s = train.fused(%x) { train.reduce "sum" %x {dims = array<i64: 0, 1>} }
    // becomes
    %p = train.fused(%x) { train.reduce "sum" %x {dims = array<i64: 1>} }
    %s = train.fused(%p) { train.reduce "sum" %p {dims = array<i64: 0>} }
    ```
  }];
  let options = [
    Option<"minElements", "min-elements", "int64_t", "262144",
           "elements of a value from which on its sum is split">
  ];
  let statistics = [
    Statistic<"numSplit", "num-split", "Sums split">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def MatchEpiloguesPass : Pass<"zc-match-epilogues", "::mlir::ModuleOp"> {
  let summary = "a product and its epilogue become one call of cuBLASLt";
  let description = [{
    Requires library calls. Where a region reads a product of two matrices and
    nothing else does, and begins with a bias, a residual, ReLU or the tanh form
    of GELU in 16 bits, or with that GELU's or ReLU's gradient: product and these become one
    region whose `joined` says so; what GELU is of is a result if the backward keeps
    it. For ReLU's gradient, the region with the ReLU gets another result, a bit
    an element, if the target's libraries have `cublaslt.relu-bits` and rows are a
    multiple of 128.
    Another form of GELU is left alone, its bias is not. Sums over the rows of such
    a gradient, or of a factor of another product, a bias's gradient, join it
    where they are rounded to the product's type.

    ```mlir
    %1 = train.fused(%x, %w) {library = "cublaslt.matmul"} { train.matmul }
    %2 = train.fused(%1, %b) { train.broadcast; train.add; train.gelu }
    // becomes
    %2 = train.fused(%x, %w, %b) {library = "cublaslt.matmul",
        joined = {epilogue = {activation = "gelu", bias}}} {
      train.matmul; train.broadcast; train.add; train.gelu }
    ```
  }];
  let options = [
    Option<"activations", "activations", "bool", "true",
           "take activations too; without, recomputation may drop their results">
  ];
  let statistics = [
    Statistic<"numTails", "num-tails", "Products joined with what follows">,
    Statistic<"numSums", "num-sums", "Sums joined to a product">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

#endif // ZC_PASSES_FUSION_PASSES_TD
