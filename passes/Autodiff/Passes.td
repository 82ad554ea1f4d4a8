//===- Passes.td - from a forward graph to training programs --------------===//
#ifndef ZC_PASSES_AUTODIFF_PASSES_TD
#define ZC_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildLossPass : Pass<"zc-build-loss", "::mlir::ModuleOp"> {
  let summary = "make the step and eval programs from the forward function";
  let description = [{
    Replaces `@forward` by `@eval` (its outputs; with a loss also the sums from
    which the host computes the mean loss and the accuracy over any number of
    samples) and, unless `mode` is infer, `@step`, whose result is the loss. In
    `@step`, batch normalisation that has a momentum uses the batch's statistics
    and returns the running ones' new values, and dropout drops elements.

    ```mlir
    func.func @forward(%x: tensor<8x64xf32> {train.input = "x"}, ...)
        -> (tensor<8x10xf32> {train.output = "logits"})
    // becomes
    func.func @step(%x: ..., %labels: tensor<8xi64> {train.input = "labels",
        train.label, ...}) -> (tensor<f32> {train.metric = "loss"})
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"train\"", "train or infer">,
    Option<"loss", "loss", "std::string", "\"softmax-cross-entropy\"",
           "softmax-cross-entropy, mse, l1, huber, bce-with-logits or none (the "
           "output)">,
    Option<"logits", "logits", "std::string", "\"\"",
           "the output the loss is of; default the first">,
    Option<"labels", "labels", "std::string", "\"labels\"",
           "name of the new input">,
    Option<"classAxis", "class-axis", "int64_t", "INT64_MIN",
           "the dim of the classes; default: the last for 3-d logits, else 1">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100",
           "labels that do not count">,
    Option<"labelSmoothing", "label-smoothing", "double", "0",
           "of softmax-cross-entropy, the share of the target that is spread "
           "evenly over the classes">,
    ListOption<"classWeights", "class-weights", "double",
               "of softmax-cross-entropy and bce-with-logits, the weight of "
               "each class; none: 1">,
    Option<"posWeight", "pos-weight", "double", "1",
           "of bce-with-logits, the weight of positive labels">,
    Option<"huberDelta", "huber-delta", "double", "1",
           "of huber, the distance from which it is linear">,
    ListOption<"addedLosses", "added-losses", "std::string",
               "OUTPUT=WEIGHT: the step's loss is with the mean of that output "
               "times the weight">,
    Option<"expertMetrics", "expert-metrics", "bool", "false",
           "tell how many rows each expert of each layer got">,
    Option<"layerMetrics", "layer-metrics", "bool", "false",
           "with expert-metrics, tell it where a layer is, for a step that is cut "
           "into stages">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "micro-batches of a step; above 1, @step is one of them and its loss "
           "a sum">,
    Option<"divideSums", "divide-sums", "bool", "false",
           "with accumulate, divide that sum, and the count that goes with it, "
           "by the power of two next above how many can count: gradients of "
           "what float16 has range for, and exactly the same mean">,
    Option<"statisticsShares", "statistics-shares", "int64_t", "1",
           "consecutive shares of the samples that each have batch statistics "
           "of their own; the first one's count for the running ones">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def AccumulateGradientsPass
    : Pass<"zc-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "cut the step in a program per micro-batch and one per step";
  let description = [{
    `@step`, built by `--zc-build-loss=accumulate=K` for a part of the batch,
    becomes `@micro`, which adds loss and gradients to states of kind accumulator,
    and `@apply`, whose gradients are the sums, divided by the number of losses,
    and which starts the accumulators at 0 again. A step is `repeat K: micro;
    apply`.
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def BuildBackwardPass : Pass<"zc-build-backward", "::mlir::ModuleOp"> {
  let summary = "append the parameters' gradients to the step program";
  let description = [{
    Reverse-mode differentiation of the loss: every op contributes its own `vjp`.
    `@step` gets one more result per parameter that the loss depends on, with the
    attribute `train.gradient = @parameter`.
  }];
  let statistics = [
    Statistic<"numGradients", "num-gradients", "Parameters with a gradient">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def BuildOptimizerStepPass
    : Pass<"zc-build-optimizer-step", "::mlir::ModuleOp"> {
  let summary = "turn gradients into new values of parameters and moments";
  let description = [{
    Adds the optimizer's states, the scalars `lr` and `optimizer.step` and the
    metric `grad_norm`. Formulas and their order of operations are PyTorch's.
    A parameter's `group` changes its learning rate and weight decay.
    With onebit-adam this is the step of the warm-up; a copy of the program as it
    was, `@apply.compressed`, is left to `--zc-build-compressed-step`.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "sgd, adam, adamw, adafactor, sm3 or onebit-adam">,
    Option<"momentum", "momentum", "double", "0.0", "momentum of sgd and sm3">,
    Option<"nesterov", "nesterov", "bool", "false", "SGD with Nesterov momentum">,
    Option<"beta1", "beta1", "double", "0.9", "decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of the second moment">,
    Option<"eps", "eps", "double", "1e-8", "added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "-1.0",
           "decay per step; negative: the optimizer's default">,
    Option<"clipNorm", "clip-norm", "double", "0.0",
           "the largest norm of all gradients; 0: any">,
    Option<"clipValue", "clip-value", "double", "0.0",
           "the largest magnitude of a gradient's element; 0: any">,
    Option<"averageDecay", "average-decay", "double", "-1.0",
           "decay of a moving average of the parameters; negative: there is "
           "none">,
    ListOption<"gradientEdges", "gradient-edges", "int64_t",
               "exponents: the metric gradient_counts tells how many elements "
               "of gradients are below these powers of two">,
    Option<"momentPrecision", "moment-precision", "std::string", "\"fp32\"",
           "the type that first moments are stored in, fp32 or bf16; updates are "
           "in float32">,
    Option<"settingsAtRunTime", "settings-at-run-time", "bool", "false",
           "betas, momentum, decay and limits that are not 0 are scalar states "
           "`setting.NAME`, which begin as these options say">
  ];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

def BuildCompressedStepPass
    : Pass<"zc-build-compressed-step", "::mlir::ModuleOp"> {
  let summary = "let ranks exchange signs of momentum in place of gradients";
  let description = [{
    Tang et al. 2021, algorithm 1: in `@apply.compressed`, left by
    `--zc-build-optimizer-step=optimizer=onebit-adam`, every rank along `axes` adds
    its own gradient to the momentum and its error of the last step to that, and
    sends signs, 8 a byte, and one scale per parameter; each averages its chunk
    of what all send, adds its error, and sends signs and scales of that. The
    states `worker_error` and `server_error` hold what was lost. `@apply` counts
    its steps in `optimizer.variance_step`.
  }];
  let options = [
    Option<"beta1", "beta1", "double", "0.9", "decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of the second moment">,
    Option<"eps", "eps", "double", "1e-8", "added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "decay per step">,
    ListOption<"axes", "axes", "std::string",
               "of the ranks that have samples of their own">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

def BuildInitPass : Pass<"zc-build-init", "::mlir::ModuleOp"> {
  let summary = "add the program that makes the states without stored values";
  let description = [{
    `@init` returns what a state's `draw` says, or zeros, for every state that has
    neither a value nor a source. `@seed` it reads: the host writes it before
    anything runs. Where parameters have copies, `@copy` makes those. A draw's key is a function of the seed and of the draw's index,
    an element's value one of the key and of the element's place, so that neither
    threads nor a later sharding nor other states change it.

    ```mlir
    train.state @w "parameter" : tensor<4x8xf32> {draw = {normal = 0.02, index = 3}}
    // becomes a result of
    func.func @init(%seed: tensor<i64> {train.state = @seed})
        -> (tensor<4x8xf32> {train.state = @w})
    ```
  }];
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_PASSES_AUTODIFF_PASSES_TD
