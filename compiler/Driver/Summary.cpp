#include "compiler/Driver/Summary.h"

#include "compiler/Export/Inspect.h"
#include "compiler/Import/ParameterRule.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "passes/Memory/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

static int64_t countSamples(onnx::GraphOp graph) {
  for (auto [input, dim] :
       llvm::zip(graph.getBody().getArguments(),
                 graph.getBatchDims().value_or(ArrayRef<int64_t>())))
    if (dim >= 0)
      return cast<ShapedType>(input.getType()).getDimSize(dim);
  return 0;
}

Summary zc::summarizeModel(ModuleOp module) {
  Summary summary;
  auto graph = *module.getBody()->getOps<onnx::GraphOp>().begin();
  summary.batch = countSamples(graph);
  for (auto initializer : graph.getBody().getOps<onnx::InitializerOp>()) {
    summary.drawnTensors += bool(initializer.getDraw());
    auto type = cast<ShapedType>(initializer.getType());
    if (initializer.getTrained()) {
      ++summary.trainedTensors;
      summary.trainedElements += type.getNumElements();
    } else if (!initializer.getFolded() &&
               isa<FloatType>(type.getElementType()) &&
               type.getNumElements() > 1) {
      auto &names =
          isStatistic(initializer) ? summary.statistics : summary.untrained;
      names.push_back(initializer.getName().str());
      if (!isStatistic(initializer))
        summary.untrainedElements += uint64_t(type.getNumElements());
    }
  }
  return summary;
}

void zc::summarizeMemory(ModuleOp module, Summary &summary) {
  if (auto notes = module->getAttrOfType<ArrayAttr>(dist::kNotesAttr))
    for (auto note : notes.getAsRange<StringAttr>())
      summary.notes.push_back(note.str());
  auto recomputed =
      module->getAttrOfType<DenseF64ArrayAttr>(kRecomputedWorkAttr);
  if (!recomputed)
    return;
  summary.recomputedOps = static_cast<int64_t>(recomputed[0]);
  summary.recomputedPart = recomputed[1];
}

// "trains 195 of 139,651 parameters in 2 of 41 tensors", or all of them.
static void printTrained(const Summary &summary, llvm::raw_ostream &os) {
  const uint64_t elements = summary.trainedElements + summary.untrainedElements;
  const uint64_t tensors = summary.trainedTensors + summary.untrained.size();
  const bool isPart = !summary.untrained.empty();
  os << llvm::formatv("zc: trains {0:N}", summary.trainedElements);
  if (isPart)
    os << llvm::formatv(" of {0:N}", elements);
  os << " parameter" << (elements == 1 ? "" : "s") << " in "
     << summary.trainedTensors;
  if (isPart)
    os << " of " << tensors;
  os << " tensor" << (tensors == 1 ? "" : "s") << '\n';
}

void zc::printSummary(const Summary &summary, const CompileOptions &options,
                      double seconds) {
  llvm::raw_ostream &os = llvm::outs();
  if (options.mode == "train")
    printTrained(summary, os);
  if (options.mode == "train" && !summary.untrained.empty())
    os << "zc: does not train " << llvm::join(summary.untrained, ", ") << '\n';
  if (options.mode == "train" && !summary.statistics.empty())
    os << "zc: does not train"
       << (options.batchNorm == "frozen" ? "" : ", but updates,")
       << " running statistics " << llvm::join(summary.statistics, ", ")
       << '\n';
  if (summary.drawnTensors)
    os << llvm::formatv("zc: draws {0} tensor{1} when a run begins ({2})\n",
                        summary.drawnTensors,
                        summary.drawnTensors == 1 ? "" : "s", options.init);
  if (summary.batch) {
    os << "zc: batch of " << summary.batch;
    // The samples of one rank: those along tp see the same ones.
    const int64_t shares =
        options.getAxisSize("dp") * options.getAxisSize("ep");
    if (shares > 1)
      os << " in all, " << summary.batch / shares << " a rank";
    os << '\n';
  }
  if (options.zero > 0 && options.getNumRanks() == 1)
    os << "zc: note: --zero " << options.zero
       << " divides nothing on one rank\n";
  if (options.precision == "fp16")
    os << "zc: CPUs multiply no fp16: it is stored so, and multiplied as "
          "float32\n";
  for (const std::string &note : summary.notes)
    os << "zc: note: " << note << '\n';
  if (summary.recomputedOps > 0)
    os << llvm::formatv(
        "zc: computes {0} kernel{1} of the forward again, about {2:F0}% of its "
        "work\n",
        summary.recomputedOps, summary.recomputedOps == 1 ? "" : "s",
        100 * summary.recomputedPart);
  os << "zc: plans " << printSize(summary.plannedBytes) << " of memory";
  if (summary.offloadedBytes > 0)
    os << (options.target == "cpu" ? ", and a file of "
                                   : ", and of the host's memory ")
       << printSize(summary.offloadedBytes) << " for what it offloads";
  os << '\n';
  os << llvm::formatv("zc: wrote {0}, {1}, in {2:F1} s\n", options.output,
                      printSize(summary.artifactBytes), seconds);
  os.flush();
}
