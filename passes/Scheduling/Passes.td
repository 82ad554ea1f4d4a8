//===- Passes.td - an order, then buffers ---------------------------------===//
#ifndef ZC_PASSES_SCHEDULING_PASSES_TD
#define ZC_PASSES_SCHEDULING_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderInstructionsPass
    : Pass<"zc-order-instructions", "::mlir::func::FuncOp"> {
  let summary = "order the fused ops of a program for updates in place and "
                "little memory";
  let description = [{
    Requires a program of `train.fused` and views, as passes/Fusion leaves it. Every op that computes the new value of a state moves behind the
    last reader of the old one, where data dependences allow it. Ops that shrink
    what is live, updates of states first of all, run as soon as they can; the
    others keep their order, unless computing them just before their first use
    takes less memory. Deterministic.

    ```mlir
    %w1 = train.fused(%w, %g1) ... // new value of @w
    %y = train.fused(%w, %x) ...   // reads the old one
    // becomes
    %y = train.fused(%w, %x) ...
    %w1 = train.fused(%w, %g1) ...
    ```

    Buffers are the business of `--zc-convert-to-sched`.
  }];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Fused ops that changed their place">
  ];
}

def OverlapCollectivesPass
    : Pass<"zc-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "run collectives beside kernels";
  let description = [{
    Requires the order of `--zc-order-instructions`. A collective begins as soon
    as what it sends is there, what reads its result comes as late as a cost model
    says that it has arrived, and other ops take the time between. Gathers of
    states begin `prefetch` gathers ahead of what reads them. Collectives with
    something beside them are marked `async`. No more bytes are on their way
    to be reduced than twice the largest of them.

    ```mlir
    %g = train.fused ...
    %s = train.fused(%g) ... dist.all_reduce
    %w1 = train.fused(%w, %s) ...
    %h = train.fused ...
    // becomes
    %g = train.fused ...
    %s = train.fused(%g) ... dist.all_reduce ... {async}
    %h = train.fused ...
    %w1 = train.fused(%w, %s) ...
    ```
  }];
  let options = [
    Option<"prefetch", "prefetch", "int64_t", "1",
           "how many gathers of states begin ahead; 0: none is async">
  ];
  let statistics = [
    Statistic<"numAsync", "num-async", "Collectives beside other ops">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

def SplitServerPass : Pass<"zc-split-server", "::mlir::ModuleOp"> {
  let summary = "make a role of the parameter server, and one of its workers";
  let description = [{
    Where the module has `dist.server`: two nested modules with the programs of
    role 0, the first rank along dp, and of role 1, all others. These take part in
    the same collectives in the same order, which is why ops are in their order
    before; what role 1 would send, it does not compute, and the states that only
    that needs it does not have.
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def ConvertToSchedPass : Pass<"zc-convert-to-sched", "::mlir::ModuleOp"> {
  let summary = "turn ordered programs into instructions on buffers";
  let description = [{
    Requires programs of `train.fused` and views. Each becomes a
    `sched.program`, fused ops become launches of kernels, equal ones once, or
    library calls with a workspace. A result takes the memory of an operand that
    dies there where the fused op allows it; the new value of a state is written
    over the old one where all readers of that come before, else to a buffer of
    its own that is copied at the end. In front of the first reader of what an
    async collective brings stands a `sched.wait`.

    ```mlir
    func.func @step(%w: tensor<4xf32> {train.state = @w})
        -> (tensor<4xf32> {train.state = @w}) {
      %0 = train.fused ... // shared_buffers = array<i64: 0, 0>
      return %0 : tensor<4xf32>
    }
    // becomes
    sched.kernel @kernel_0 attributes {shared = array<i64: 0, 0>} {...}
    sched.program @step {
      %w = sched.state @w : memref<4xf32>
      %0 = sched.view %w : memref<4xf32> to memref<4xf32>
      sched.launch @kernel_0 ins(%w : memref<4xf32>) outs(%0 : memref<4xf32>)
    }
    ```

    Offsets are the business of `--zc-assign-offsets`.
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Distinct kernels">,
    Statistic<"numLaunches", "num-launches", "Launches of kernels">,
    Statistic<"numCopies", "num-copies", "Copies that states or outputs need">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

def JoinLaunchesPass : Pass<"zc-join-launches", "::mlir::ModuleOp"> {
  let summary = "run small kernels that need nothing of one another as one";
  let description = [{
    Requires the programs of `--zc-convert-to-sched`, for a GPU; others stay as
    they are. A launch that moves fewer bytes than could be moved while a kernel
    begins waits until an instruction needs what it writes, or writes what it
    uses. Then all launches that wait for no other one become a single launch, of
    a kernel whose body has theirs one behind the other; code generation gives
    each of them teams of threads to itself. Launches that nothing needs yet go
    along. At most 4 MiB of buffers are kept for those that wait.

    ```mlir
    sched.launch @mean ins(%x) outs(%m)
    sched.launch @update ins(%g, %w) outs(%w1)
    sched.library_call "dnn" "train.conv" ... ins(%m, ...)
    // becomes
    sched.launch @joined_0 ins(%x, %g, %w) outs(%m, %w1)
    sched.library_call "dnn" "train.conv" ... ins(%m, ...)
    ```
  }];
  let statistics = [
    Statistic<"numSaved", "num-saved", "Launches less">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

def KeepBusyStatesPass : Pass<"zc-keep-busy-states", "::mlir::ModuleOp"> {
  let summary = "keep parameters on the device that steps begin with";
  let description = [{
    Requires the programs of `--zc-convert-to-sched`. On a module with
    `train.keeps_busy` this pass takes the mark `offloaded` off some parameters,
    or off their 16-bit copies where forward and backward read those: off those
    that a program would have to wait for. It looks at @step, @micro, and the
    forwards and backwards of pipelines, each alone, because copies begin and end
    with their program. A program that only reads a parameter has to wait for it if
    its first use comes sooner after the program's begin than a copy could arrive.
    A program that also writes it has to wait if the time behind its last use and
    the time in front of its first one are together too short for a copy each way.

    A note names these parameters. `train.staying` says how many bytes they have.
    This is done only where the second memory is a host's. Who keeps states in a
    file wants the room, whatever time that takes.

    ```mlir
    train.state @table "parameter" : tensor<4xf32> {offloaded}
    sched.program @step {
      %t = sched.state @table : memref<4xf32>
      sched.launch @first ins(%t : ...)
    // becomes
    train.state @table "parameter" : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numKept", "num-kept", "Parameters that stay">
  ];
}

def HostUpdatesPass : Pass<"zc-host-updates", "::mlir::ModuleOp"> {
  let summary = "let the host update the states that lie in its memory";
  let description = [{
    Requires the programs of `--zc-convert-to-sched`. A launch of elementwise code
    that writes over the old values of states with `host_update`, or fills them
    with a constant, runs on the host, where they lie; so does one that sums up
    what lies there, beside nothing but single numbers. A state that anything
    else uses comes to the device for all of its uses. All else that it reads
    goes there by async copies, as soon as it is written; all else that it
    writes comes back. A cost model says how long gradients are kept for their
    copies, as for `--zc-offload`, and behind which instruction new weights come
    back: copies of one direction run one after another, and what else is fetched
    is not to wait for the host.

    ```mlir
    sched.launch @adam ins(%g, %m : ...) outs(%m1, %w1 : ...)
    // becomes
    %far = sched.alloc "offloaded" : memref<4xbf16>
    %new = sched.alloc "offloaded" : memref<4xbf16>
    sched.copy %g to %far {async} : ...
    sched.launch @adam_host ins(%far, %m : ...) outs(%m1, %new : ...) {host}
    ... // what the device does meanwhile
    sched.wait %far : memref<4xbf16>
    sched.copy %new to %w1 {async} : ...
    ```
  }];
  let statistics = [
    Statistic<"numUpdates", "num-updates", "Launches on the host">
  ];
}

def OffloadPass : Pass<"zc-offload", "::mlir::ModuleOp"> {
  let summary = "keep what is not needed at the moment in the second memory";
  let description = [{
    Requires the programs of `--zc-convert-to-sched`. States with
    `offloaded` lie in the second memory space, which only copies reach; the
    value of an allocation with `offload` lies there while nothing uses it.
    Uses that stand close together share a buffer of the transient region: the
    value is copied there ahead of the first, and back behind the last if it is
    new. The copies are async, and each direction has a stream. A cost model says
    how far ahead they begin and when nobody has to wait for them; the bytes on
    their way each way are at most twice the most that one instruction needs.
    `train.waiting` says for how many seconds
    programs wait for copies all the same. Where the second memory is a host's, a
    value that is only read stays if its next use comes sooner than it would be
    back.

    ```mlir
    %m = sched.state @m : memref<4xf32> // offloaded
    %1 = sched.view %m : memref<4xf32> to memref<4xf32>
    sched.launch @update ins(%g, %m : ...) outs(%1 : memref<4xf32>)
    // becomes
    %b = sched.alloc "communication" : memref<4xf32>
    sched.copy %m to %b {async} : ...
    ... // what comes before
    sched.wait %b : memref<4xf32>
    %2 = sched.view %b : memref<4xf32> to memref<4xf32>
    sched.launch @update ins(%g, %b : ...) outs(%2 : memref<4xf32>)
    sched.copy %2 to %1 {async} : ...
    ```
  }];
  let statistics = [
    Statistic<"numFetches", "num-fetches", "Copies from the second memory">,
    Statistic<"numStores", "num-stores", "Copies to the second memory">
  ];
}

#endif // ZC_PASSES_SCHEDULING_PASSES_TD
