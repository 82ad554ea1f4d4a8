#include "compiler/Import/ExportWarnings.h"

#include "compiler/Import/Metadata.h"
#include "compiler/OnnxModel/OptimizedExport.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace zc;

// Such a file may be another network than its author's.
static void warnOfOptimizedExport(Location location,
                                  const proto::GraphProto &graph) {
  if (isOptimizedExport(graph))
    emitWarning(location)
        << "was exported with optimize=True: PyTorch's exporter has rewritten "
           "it, and may have merged equal parameters, deleted zero biases, "
           "folded batch normalisation and made tables constant; zc trains the "
           "network that is in the file; export with optimize=False to train "
           "the one you wrote";
}

// A weight that the TorchScript exporter computed has a number for a name.
static void warnOfFolded(Location location, const proto::ModelProto &model) {
  auto isFolded = [](const proto::TensorProto &tensor) {
    return StringRef(tensor.name()).starts_with("onnx::Conv_");
  };
  if (model.producer_name() == "pytorch" &&
      llvm::any_of(model.graph().initializer(), isFolded))
    emitWarning(location)
        << "was exported by PyTorch's TorchScript exporter in evaluation mode, "
           "which folds batch normalisation into convolutions; zc trains the "
           "network that is in the file; export with "
           "training=torch.onnx.TrainingMode.TRAINING to train the one you "
           "wrote";
}

// As tf2onnx calls a weight that it has computed of both.
static void warnOfFusedNorms(Location location,
                             const proto::GraphProto &graph) {
  auto isFused = [](const proto::TensorProto &tensor) {
    return StringRef(tensor.name()).contains("_weights_fused_bn");
  };
  const int64_t fused = llvm::count_if(graph.initializer(), isFused);
  if (fused > 0)
    emitWarning(location)
        << "was written by tf2onnx, which has folded " << fused
        << " batch normalisation" << (fused == 1 ? "" : "s")
        << " into convolutions; zc trains the network that is in the file; "
           "convert without tf2onnx's optimizers to train the one you wrote";
}

static void warnOfParted(Location location, ArrayRef<std::string> parted) {
  if (!parted.empty())
    emitWarning(location)
        << "PyTorch's TorchScript exporter has merged equal weights; zc trains "
        << parted.size() << " of them ('" << parted.front()
        << (parted.size() > 1 ? "', ...)" : "')")
        << " apart again, as the author's module has them; export with "
           "training=torch.onnx.TrainingMode.TRAINING, or dynamo=True";
}

void zc::warnOfExport(Location location, const ModelFile &file) {
  warnOfOptimizedExport(location, file.model.graph());
  warnOfParted(location, file.parted);
  warnOfFolded(location, file.model);
  warnOfFusedNorms(location, file.model.graph());
}

void zc::warnOfEvaluationMode(Location location, const proto::ModelProto &model,
                              const ModelImportOptions &options) {
  const proto::GraphProto &graph = model.graph();
  auto isDropout = [](const proto::NodeProto &node) {
    return node.op_type() == "Dropout";
  };
  const bool lacksDropout =
      options.drawsDropout && llvm::none_of(graph.node(), isDropout);
  auto found = llvm::find_if(graph.node(), isOfEvaluation);
  if (model.producer_name() != "pytorch" || found == graph.node().end() ||
      (!lacksDropout && !options.takesBatchStatistics))
    return;
  InFlightDiagnostic warning = emitWarning(location);
  warning << "batch normalisation '" << found->name()
          << "' was exported by PyTorch in evaluation mode";
  if (options.takesBatchStatistics)
    warning << "; it is trained with the statistics of each batch "
               "(--batchnorm frozen keeps those of the file)";
  if (lacksDropout)
    warning << "; if the whole module was in that mode, its dropout is not in "
               "the file: call model.train() before the export";
}
