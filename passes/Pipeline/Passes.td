//===- Passes.td - a model cut into the roles of a pipeline ---------------===//
#ifndef ZC_PASSES_PIPELINE_PASSES_TD
#define ZC_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStagesPass : Pass<"zc-assign-stages", "::mlir::ModuleOp"> {
  let summary = "say which stage of a pipeline each op belongs to";
  let description = [{
    Sets `train.stage` on the ops of `@step` and `@eval`, in front of the backward.
    Stages are consecutive parts of the step's ops; which ones is decided by
    `patterns`, or by the time that a step takes. Ops that depend on constants and
    parameters alone, and cheap ones that depend on inputs, have no stage: each
    role that reads them computes them itself. With `memory-bytes`, stages are
    chosen that fit, by an estimate: what their parameters take, and for each
    micro-batch under way what the backward reads of their forward. With
    `deals-roles`, `train.stage_replicas` on the module says how many roles each
    stage has.

    ```mlir
    %1 = train.matmul %0, %w1 {train.stage = 0 : i64} ...
    %2 = train.matmul %1, %w2 {train.stage = 1 : i64} ...
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "how many">,
    Option<"dealsRoles", "deals-roles", "bool", "false",
           "`stages` counts roles, which are dealt to as many stages as are best; "
           "several roles of one stage compute its micro-batches in turn">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "of a step">,
    Option<"patterns", "patterns", "std::string", "\"\"",
           "a line for each rule: a regular expression of node names or module "
           "paths, a blank, a stage; ops that no rule finds stay with those in "
           "front of them">,
    ListOption<"inFlight", "in-flight", "int64_t",
               "for each stage, how many micro-batches are under way at most">,
    ListOption<"roleOfStage", "role-of-stage", "int64_t",
               "the role that has each stage: cuts are priced by the links between "
               "these; none: by the slowest link">,
    Option<"memoryBytes", "memory-bytes", "int64_t", "0",
           "that a rank has; stages that need more are chosen where there are no "
           "others. 0: any">,
    Option<"bytesPerParameter", "bytes-per-parameter", "double", "16.0",
           "of an element that is trained, with its gradient and the optimizer's "
           "states">,
    Option<"sampleShares", "sample-shares", "int64_t", "1",
           "the ranks of a stage that divide its samples">,
    Option<"keepsCrossing", "keeps-crossing", "bool", "false",
           "the forward is computed again from what crosses between segments">
  ];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect"];
}

def MarkDelaysPass : Pass<"zc-mark-delays", "::mlir::ModuleOp"> {
  let summary = "say which versions of parameters a step without flush reads";
  let description = [{
    After `--zc-assign-stages`. Without flush, forwards and backwards of a stage
    read parameters that are some steps old; `delay` on a parameter, or on
    its 16-bit copy, says how many. A parameter that several stages read would
    need their gradients' sum before each update, and is refused. On one rank,
    the reference of what roles compute, stages have no other meaning and are
    forgotten.

    ```mlir
    train.state @w "parameter" : tensor<8x4xf32> {delay = 1 : i64}
    ```
  }];
  let options = [
    ListOption<"delays", "delays", "int64_t",
               "for each stage, how many steps old its parameters are">,
    Option<"oneRole", "one-role", "bool", "false",
           "no role is made of a stage">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def AddVersionsPass : Pass<"zc-add-versions", "::mlir::ModuleOp"> {
  let summary = "make states of the versions that programs read and write";
  let description = [{
    On fused ops, before memory is planned. A state with a `delay` has versions:
    `@micro` reads the one that is so many steps old; `@apply` reads
    the newest and writes the next one: states of their own, in slots of the same
    memory. `train.versions` on the module is how many slots there are. Other
    programs read and write the newest version.

    ```mlir
    train.state @version.read.w "parameter" : tensor<8x4xf32>
        {version_of = @w, version_age = 1 : i64}
    train.state @version.written.w "parameter" : tensor<8x4xf32>
        {version_of = @w, version_age = -1 : i64}
    ```
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def ShareCountPass : Pass<"zc-share-count", "::mlir::ModuleOp"> {
  let summary = "send the number of a micro-batch's losses to all roles";
  let description = [{
    After `--zc-split-stages`, for schedules without flush. The role with the loss
    returns the metric `loss_count`; each other role receives it beside its
    gradients, and returns it in its turn.
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def SplitStagesPass : Pass<"zc-split-stages", "::mlir::ModuleOp"> {
  let summary = "make a module of each role's part of the programs";
  let description = [{
    After `--zc-assign-stages`. Role i gets stage i, or the stages that
    `role-of-stage` gives it: the nested module `@role<i>` holds their states and
    ops. A value that another stage reads is a *message*: a result with `train.send`
    there, an argument with `train.receive` here, both with its number, the other
    role, which of its own role's stages has this end, and whether a gradient comes
    back. Stages of one role send each other messages, too, until the role is cut
    into programs. With `replicas` several roles have a stage, which compute
    micro-batches in turn: `train.turn` of `train.turns` on the role, and messages
    with several peers, one for each micro-batch.

    ```mlir
    module @role0 attributes {train.role = 0 : i64} {
      func.func @step(%x: ...) -> (tensor<8x4xf32> {train.send =
          {gradient, id = 0 : i64, peer = 1 : i64}}) ...
    }
    ```
  }];
  let options = [
    ListOption<"inFlight", "in-flight", "int64_t",
               "for each role, how many micro-batches are under way at most">,
    ListOption<"roleOfStage", "role-of-stage", "int64_t",
               "for each stage, its role; none: one stage a role">,
    ListOption<"replicas", "replicas", "int64_t",
               "for each stage, how many roles have it and take micro-batches "
               "in turn; none: one">,
    Option<"splitWeights", "split-weights", "bool", "false",
           "the parameters' gradients are programs of their own">,
    Option<"keepWhole", "keep-whole", "bool", "false",
           "the last role computes both passes of a micro-batch at once">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

def HoistGathersPass : Pass<"zc-hoist-gathers", "::mlir::ModuleOp"> {
  let summary = "gather the units of ZeRO-3 for several micro-batches at once";
  let description = [{
    On fused ops, where `train.reshard_every` on the module says that units stay
    gathered for so many micro-batches. Gathers of parameters leave `@micro` for
    `@gather`, which an order calls as often as that; where a role has several
    stages, for `@gather.0`, of the first of them, and so on. Both know the whole
    unit as a state of kind gathered. Where nothing is gathered, the attribute
    goes. Units with versions are gathered by each micro-batch.

    ```mlir
    func.func @micro(%u: tensor<4xf32> {train.state = @unit.0}) ... {
      %0 = train.fused(%u) {library = "zc.collective"} ... -> tensor<8xf32>
    // becomes
    train.state @gathered.unit.0 "gathered" : tensor<8xf32>
    func.func @micro(%0: tensor<8xf32> {train.state = @gathered.unit.0}) ...
    func.func @gather(%u: tensor<4xf32> {train.state = @unit.0})
        -> (tensor<8xf32> {train.state = @gathered.unit.0})
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "num-hoisted", "Gathers that left @micro">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def SplitPassesPass : Pass<"zc-split-passes", "::mlir::ModuleOp"> {
  let summary = "cut a role's micro-batch into its forward and its backward";
  let description = [{
    On fused ops. `@micro` of a role becomes `@forward`, from which activations are
    sent, and `@backward`, which receives their gradients. Values that the backward
    reads from the forward are *stashed*: states of kind flight, one for each
    micro-batch in flight, which one writes and the other reads. So are messages. Values
    that follow from states alone are computed again. Where `train.keep_whole`
    stands on the role, `@micro` stays as it is but for its messages.

    With `train.split_weights` the backward sends the gradients on, and `@weights`
    computes those of the parameters, later. With `train.chunks` the role has
    several stages, and `@forward.0`, `@backward.0` are of the first of them;
    `@eval` is cut in the same way.
  }];
  let statistics = [
    Statistic<"numStashed", "num-stashed", "Values that micro-batches keep">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_PIPELINE_PASSES_TD
