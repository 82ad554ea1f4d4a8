// The first phase: from the model's file to the onnx dialect, with what the
// user says of inputs, weights and outputs.
#include "compiler/Driver/Phases.h"

#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/PassObserver.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Import/BatchDims.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/InitialWeights.h"
#include "compiler/Import/ParameterRule.h"
#include "compiler/Import/SharedWeights.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "runtime/Base/File.h"

using namespace mlir;
using namespace zc;

LogicalResult Phases::checkLabels() {
  auto graph = *module->getBody()->getOps<zc::onnx::GraphOp>().begin();
  if (options.mode != "train" || options.loss.empty() || options.loss == "none")
    return success();
  for (StringAttr name : graph.getInputNames().getAsRange<StringAttr>())
    if (name.getValue() == options.labels)
      return graph.emitError()
             << "has an input named '" << options.labels
             << "', which is what the loss calls its new input; choose another "
                "name for that with --labels NAME";
  return success();
}

// Every rank takes as many samples of every micro-batch.
LogicalResult Phases::checkBatch() {
  int64_t ranks = countSampleShares(options);
  int64_t parts = ranks * options.accumulate;
  int64_t batch = summarizeModel(*module).batch;
  if (ranks == 1 || batch % parts == 0)
    return success();
  auto graph = *module->getBody()->getOps<zc::onnx::GraphOp>().begin();
  int64_t below = batch / parts * parts;
  return graph.emitError() << "the batch of " << batch
                           << " samples does not divide among " << ranks
                           << " ranks (dp x ep)"
                           << (options.accumulate > 1
                                   ? " in " +
                                         std::to_string(options.accumulate) +
                                         " micro-batches"
                                   : std::string())
                           << "; the next sizes that do are "
                           << (below ? std::to_string(below) + " and "
                                     : std::string())
                           << below + parts;
}

LogicalResult Phases::drawWeights(zc::onnx::GraphOp graph) {
  if (options.init.empty())
    return success();
  auto init = InitialWeights::parse(options.init);
  if (!init)
    return graph.emitError() << "--init: " << llvm::toString(init.takeError());
  return init->apply(graph);
}

/// Imports a model; its diagnostics are kept in `found`.
static FailureOr<OwningOpRef<ModuleOp>>
importQuietly(MLIRContext *context, const ModelImportOptions &reading,
              std::vector<Diagnostic> &found) {
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    found.push_back(std::move(diagnostic));
  });
  return zc::importModel(context, reading);
}

// A trained model may have outputs beside the loss's that zc does not support;
// they are then left out.
FailureOr<OwningOpRef<ModuleOp>>
Phases::importOutputs(ModelImportOptions reading) {
  if (options.mode != "train" || options.emit == Emit::Onnx)
    return zc::importModel(context, reading);
  std::vector<Diagnostic> found;
  auto imported = importQuietly(context, reading, found);
  if (failed(imported) && options.addedLosses.empty()) {
    auto error = llvm::find_if(found, [](const Diagnostic &diagnostic) {
      return diagnostic.getSeverity() == DiagnosticSeverity::Error;
    });
    reading.onlyOutput =
        OnlyOutput{options.loss == "none" ? options.lossOutput : options.logits,
                   error == found.end() ? "" : error->str()};
    std::vector<Diagnostic> foundOfOne;
    imported = importQuietly(context, reading, foundOfOne);
    if (succeeded(imported))
      found = std::move(foundOfOne);
  }
  for (Diagnostic &diagnostic : found)
    context->getDiagEngine().emit(std::move(diagnostic));
  return imported;
}

/// Warns of options about operators that the model does not have.
static void warnOfAbsent(zc::onnx::GraphOp graph,
                         const CompileOptions &options) {
  auto has = [&](ArrayRef<StringRef> kinds) {
    return graph
        .walk([&](zc::onnx::NodeOp node) {
          return llvm::any_of(kinds,
                              [&](StringRef kind) {
                                return node.getOpType().contains(kind);
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  const bool asksForStatistics =
      options.batchNorm == "frozen" || options.batchNormStats == "local";
  if (asksForStatistics && !has({"BatchNormalization"}))
    graph.emitWarning() << "--batchnorm"
                        << (options.batchNorm == "frozen" ? " frozen"
                                                          : "-stats local")
                        << " changes nothing: the model has no batch "
                           "normalisation";
  // Exporters write some of it as comparisons with random numbers.
  if (options.dropout == "off" && !has({"Dropout", "Bernoulli", "Random"}))
    graph.emitWarning()
        << "--dropout off changes nothing: the model has no dropout";
}

LogicalResult Phases::importModel() {
  unsigned errors = printer.getNumErrors();
  auto rule =
      ParameterRule::create(options.freeze, options.train, options.trainScales);
  if (!rule)
    return emitError(UnknownLoc::get(context))
           << llvm::toString(rule.takeError());
  ModelImportOptions reading;
  reading.path = options.model;
  reading.dims = options.dims;
  reading.maxTrips = options.maxTrips;
  reading.batch = options.batch;
  reading.batchDims = options.batchDims;
  reading.constantInputs = options.constantInputs;
  reading.inputValues = options.inputValues;
  reading.absentData = !options.init.empty() || options.plansOnly;
  reading.takesBatchStatistics =
      options.mode == "train" && options.batchNorm == "train";
  reading.drawsDropout = options.mode == "train" && options.dropout == "on";
  reading.mayBeTrained = [&](StringRef name) {
    return rule->getChoice(name).value_or(false);
  };
  if (options.mode == "train")
    reading.trainsIntegers = [&](StringRef name) {
      return rule->getChoice(name).value_or(true);
    };
  if (options.mode == "train")
    reading.innerOutput =
        options.loss == "none" ? options.lossOutput : options.logits;
  if (options.mode == "train" && (options.loss == "softmax-cross-entropy" ||
                                  options.loss == "bce-with-logits"))
    reading.scores = options.logits;
  if (options.takesEmpty)
    reading.takesEmpty = [&](EmptyOutput output) {
      options.takesEmpty({output.name, output.dataType, output.dims});
    };
  if (!options.stopGradient.empty())
    reading.stopsGradient =
        // The command line has been checked.
        [pattern = llvm::cantFail(NamePattern::parse(options.stopGradient))](
            StringRef name) { return pattern.isIn(name); };
  reading.isSupported = [](StringRef domain, StringRef op, int64_t version) {
    return LoweringRegistry::get().isSupported(domain, op, version);
  };
  ScopedTime time(times, "import");
  auto imported = importOutputs(reading);
  if (failed(imported))
    return checkInternally("import", false, errors);
  module = std::move(*imported);
  auto graph = *module->getBody()->getOps<zc::onnx::GraphOp>().begin();
  BatchOptions batch;
  batch.dims = options.batchDims;
  batch.logits = options.logits;
  batch.fromFirstInput = options.loss == "none";
  batch.lossOfOutput = !options.loss.empty() && !batch.fromFirstInput;
  if (failed(checkLabels()) ||
      failed(rule->apply(graph, parentPath(options.model))) ||
      failed(setBatchDims(graph, batch)) || failed(checkBatch()) ||
      failed(drawWeights(graph)))
    return failure();
  if (options.mode == "train") {
    warnOfMergedWeights(graph, parentPath(options.model));
    warnOfAbsent(graph, options);
  }
  if (!options.dumpIr.empty())
    dumpIr(*module, options.dumpIr, "import", dumped);
  return checkInternally("import", true, errors);
}
