#include "compiler/Driver/Summary.h"

#include "compiler/Driver/MeshOptions.h"

#include "compiler/Export/Inspect.h"
#include "compiler/Import/OperatorRoles.h"
#include "compiler/Import/ParameterRule.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Dist/Notes.h"
#include "dialects/Dist/Server.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "passes/Analysis/Roles.h"
#include "passes/Memory/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Target/Devices.h"

#include "runtime/Plan/Axes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

static int64_t countSamples(zc::onnx::GraphOp graph) {
  for (auto [input, dim] :
       llvm::zip(graph.getBody().getArguments(),
                 graph.getBatchDims().value_or(ArrayRef<int64_t>())))
    if (dim >= 0)
      return cast<ShapedType>(input.getType()).getDimSize(dim);
  return 0;
}

// Numbers of one element in formulas are no weights; where a gradient reaches
// one that the file stores, it could be.
static bool couldBeTrained(zc::onnx::InitializerOp initializer,
                           const llvm::SetVector<Value> &differentiable) {
  auto type = cast<ShapedType>(initializer.getType());
  if (initializer.getTrained())
    return true;
  return !initializer.getFolded() && isa<FloatType>(type.getElementType()) &&
         !isSettingAlone(initializer) &&
         (type.getNumElements() > 1 ||
          differentiable.contains(initializer.getResult()));
}

std::vector<std::string> zc::listLosses(const CompileOptions &options) {
  std::vector<std::string> names;
  const std::string &main =
      options.loss == "none" ? options.lossOutput : options.logits;
  if (!main.empty())
    names.push_back(main);
  // The first output is trained besides: the empty name stands for it.
  else if (!options.addedLosses.empty())
    names.emplace_back();
  for (StringRef added : options.addedLosses)
    names.push_back(added.rsplit('=').first.str());
  return names;
}

/// Values that the named outputs, or without names the first, are computed of.
static DenseSet<Value> findSources(zc::onnx::GraphOp graph,
                                   const std::vector<std::string> &losses) {
  OperandRange outputs = graph.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> open;
  for (auto [index, name, output] : llvm::enumerate(
           graph.getOutputNames().getAsRange<StringAttr>(), outputs))
    if (llvm::is_contained(losses, name.getValue()) ||
        (index == 0 && (losses.empty() || llvm::is_contained(losses, ""))))
      open.push_back(output);
  DenseSet<Value> sources(open.begin(), open.end());
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    // A loop's body reads values of the graph, too.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (sources.insert(operand).second)
          open.push_back(operand);
    });
  }
  return sources;
}

Summary zc::summarizeModel(ModuleOp module,
                           const std::vector<std::string> &losses) {
  Summary summary;
  auto graph = *module.getBody()->getOps<zc::onnx::GraphOp>().begin();
  summary.batch = countSamples(graph);
  const DenseSet<Value> sources = findSources(graph, losses);
  llvm::SetVector<Value> differentiable = findDifferentiable(graph);
  for (auto initializer : graph.getBody().getOps<zc::onnx::InitializerOp>()) {
    summary.drawnTensors += bool(initializer.getDraw());
    summary.integerTensors +=
        initializer.getTrained() && initializer->hasAttr(kStoredAsIntegers);
    if (!couldBeTrained(initializer, differentiable))
      continue;
    std::string name = initializer.getName().str();
    if (isStatistic(initializer) && !initializer.getTrained()) {
      summary.statistics.push_back(name);
      continue;
    }
    int64_t elements = cast<ShapedType>(initializer.getType()).getNumElements();
    ++summary.tensors;
    summary.elements += elements;
    if (initializer.getTrained()) {
      if (sources.contains(initializer.getResult())) {
        ++summary.trainedTensors;
        summary.trainedElements += elements;
      } else {
        summary.unreached.push_back(name);
      }
      continue;
    }
    summary.untrained.push_back(name);
    if (!initializer.use_empty())
      summary.frozen.push_back(name);
  }
  for (auto node : graph.getBody().getOps<zc::onnx::NodeOp>())
    summary.gradientStops += node.getOpType() == kStopGradient;
  return summary;
}

/// A role's name for people.
static std::string nameRole(ModuleOp role, bool isOfServer) {
  auto number = role->getAttrOfType<IntegerAttr>(train::kRoleAttr);
  if (!number)
    return "";
  if (isOfServer)
    return number.getInt() == 0 ? "the parameter server" : "workers";
  return "role " + std::to_string(number.getInt());
}

/// A note that all roles have is told once, another one with their names.
static void summarizeNotes(ModuleOp module, Summary &summary) {
  const bool isOfServer = module->hasAttr(dist::kServerAttr);
  SmallVector<ModuleOp> roles = getRoles(module);
  llvm::MapVector<StringRef, std::vector<std::string>> rolesOf;
  for (ModuleOp role : roles)
    if (auto notes = role->getAttrOfType<ArrayAttr>(dist::kNotesAttr)) {
      const std::string name = nameRole(role, isOfServer);
      for (auto note : notes.getAsRange<StringAttr>())
        if (std::vector<std::string> &names = rolesOf[note.getValue()];
            names.empty() || names.back() != name)
          names.push_back(name);
    }
  for (const auto &[note, names] : rolesOf)
    summary.notes.push_back(names.size() == roles.size()
                                ? note.str()
                                : dist::listNames(names) + ": " + note.str());
}

static void summarizeRole(ModuleOp module, Summary &summary) {
  auto recomputed =
      module->getAttrOfType<DenseF64ArrayAttr>(kRecomputedWorkAttr);
  if (!recomputed)
    return;
  summary.recomputedOps += static_cast<int64_t>(recomputed[0]);
  summary.recomputedPart = std::max(summary.recomputedPart, recomputed[1]);
}

void zc::summarizeMemory(ModuleOp module, const PipelineSchedule &pipeline,
                         Summary &summary) {
  summarizeNotes(module, summary);
  for (ModuleOp role : getRoles(module))
    summarizeRole(role, summary);
  auto seconds = module->getAttrOfType<DenseF64ArrayAttr>(kStageSecondsAttr);
  if (!seconds)
    return;
  double sum = 0, largest = 0;
  std::vector<double> ofRoles(pipeline.roles.size());
  for (auto [stage, each] : llvm::enumerate(seconds.asArrayRef())) {
    const uint32_t replicas = pipeline.replicasOf(uint32_t(stage));
    sum += each;
    for (uint32_t i = 0; i < replicas; ++i)
      largest = std::max(largest, ofRoles[pipeline.roleOfStage[stage] + i] +=
                                  each / replicas);
  }
  summary.stages = seconds.size();
  summary.replicas = pipeline.replicas;
  if (sum > 0)
    summary.imbalance = largest * double(ofRoles.size()) / sum;
}

/// " on 2 + 1 roles", or nothing where each stage has one role.
static std::string printReplicas(const std::vector<uint32_t> &replicas) {
  std::string text;
  for (uint32_t each : replicas)
    text += (text.empty() ? " on " : " + ") + std::to_string(each);
  return text.empty() ? text : text + " roles";
}

// Groups names by module, or by folder, in the order in which they come.
static llvm::MapVector<StringRef, std::vector<StringRef>>
groupByPrefix(ArrayRef<StringRef> names) {
  size_t begin = 0;
  llvm::MapVector<StringRef, std::vector<StringRef>> groups;
  while (true) {
    groups.clear();
    bool divides = true;
    for (StringRef name : names) {
      size_t end = name.find_first_of("./", begin + 1);
      divides &= end != StringRef::npos;
      groups[name.take_front(end == StringRef::npos ? name.size() : end + 1)]
          .push_back(name);
    }
    // Where all begin alike, what comes next tells more.
    if (groups.size() != 1 || !divides)
      return groups;
    begin = groups.front().first.size() - 1;
  }
}

/// As many names, or groups of names, are read at a glance.
static constexpr size_t kMostNames = 8;

static std::string listNames(ArrayRef<std::string> names, bool all) {
  if (all || names.size() <= kMostNames)
    return llvm::join(names, ", ");
  std::vector<std::string> parts;
  size_t shown = 0;
  SmallVector<StringRef> rest(names.begin(), names.end());
  for (auto &[prefix, members] : groupByPrefix(rest)) {
    if (parts.size() == kMostNames)
      break;
    shown += members.size();
    parts.push_back(members.size() == 1
                        ? members.front().str()
                        : (prefix + "* (" + Twine(members.size()) + ")").str());
  }
  if (shown < names.size())
    parts.push_back("and " + std::to_string(names.size() - shown) + " more");
  return llvm::join(parts, ", ") + "; -v names all";
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static void printParameters(const Summary &summary,
                            const CompileOptions &options,
                            llvm::raw_ostream &os) {
  const bool isPart = !summary.untrained.empty() || !summary.unreached.empty();
  os << llvm::formatv("zc: trains {0:N}", summary.trainedElements);
  if (isPart)
    os << llvm::formatv(" of {0:N}", summary.elements);
  os << " parameter" << plural(summary.elements) << " in "
     << summary.trainedTensors;
  if (isPart)
    os << " of " << summary.tensors;
  os << " tensor" << plural(summary.tensors) << '\n';
  if (!summary.untrained.empty())
    os << "zc: does not train " << listNames(summary.untrained, options.verbose)
       << '\n';
  if (!summary.unreached.empty())
    os << "zc: note: the loss does not depend on "
       << listNames(summary.unreached, options.verbose)
       << ", which stay as they are\n";
  if (!summary.statistics.empty())
    os << "zc: does not train"
       << (options.batchNorm == "frozen" ? "" : ", but updates,")
       << " running statistics "
       << listNames(summary.statistics, options.verbose) << '\n';
  if (summary.integerTensors)
    os << llvm::formatv("zc: trains {0} tensor{1} that the file stores as "
                        "integers as the numbers they stand for\n",
                        summary.integerTensors, plural(summary.integerTensors));
  if (summary.gradientStops)
    os << llvm::formatv("zc: no gradient flows behind {0} value{1} (detach() "
                        "in the file, or --stop-gradient)\n",
                        summary.gradientStops, plural(summary.gradientStops));
}

void zc::printProof(const ProofReport &report, llvm::raw_ostream &os) {
  const std::string who =
      report.ranks > 1
          ? std::to_string(report.ranks) + " ranks train as one does"
          : "the program trains as its plain form does";
  if (report.outcome == ProofReport::Outcome::Equal)
    os << llvm::formatv(
        "zc: verified: on small dims {0}, in all {1} tensors "
        "of {2}{3} within {4:e1}{5}\n",
        who, report.tensors,
        report.steps == 1 ? "a step" : llvm::utostr(report.steps) + " steps",
        report.hasCompressed ? " and of one behind the warm-up" : "",
        report.worst,
        report.equal.blocks == 0
            ? ""
            : llvm::formatv("; {0} block{1} of layers ({2} parameter tensor{3})"
                            ", equal to others, left out",
                            report.equal.blocks, plural(report.equal.blocks),
                            report.equal.parameters,
                            plural(report.equal.parameters))
                  .str());
  else
    os << "zc: note: not verified that " << who << ": " << report.why << '\n';
  if (report.rules)
    os << llvm::formatv("zc: verified: ops are divided as their formulas allow "
                        "({0} kinds)\n",
                        report.rules);
  if (!report.openRules.empty())
    os << "zc: note: not verified how these are divided: "
       << llvm::join(report.openRules, ", ") << '\n';
}

/// Huang et al. 2019: from 4 micro-batches a stage on, the bubble is small.
static void printBubble(const CompileOptions &options, int64_t stages,
                        llvm::raw_ostream &os) {
  const int64_t micro = options.accumulate, enough = 4 * stages;
  const bool isPlain = options.schedule == "gpipe" ||
                       options.schedule == "1f1b" ||
                       options.schedule == "flush";
  if (!isPlain || micro >= enough)
    return;
  const double idle = double(stages - 1) / double(micro + stages - 1);
  os << llvm::formatv(
      "zc: note: with {0} micro-batches for {1} stages each waits {2:F0}% of a "
      "step; with 4 a stage (--accumulate {3}) it is below 20%\n",
      micro, stages, 100 * idle, enough);
}

void zc::printSummary(const Summary &summary, const CompileOptions &options,
                      double seconds) {
  llvm::raw_ostream &os = llvm::outs();
  if (options.mode == "train")
    printParameters(summary, options, os);
  if (summary.drawnTensors)
    os << llvm::formatv("zc: draws {0} tensor{1} when a run begins ({2})\n",
                        summary.drawnTensors,
                        summary.drawnTensors == 1 ? "" : "s", options.init);
  if (summary.batch) {
    os << "zc: batch of " << summary.batch;
    if (const int64_t shares = countSampleShares(options); shares > 1)
      os << " in all, " << summary.batch / shares << " a rank";
    os << '\n';
  }
  if (const int64_t roles = options.getAxisSize(axes::kRole); roles > 1) {
    os << llvm::formatv(
        "zc: {0} stage{5}{6}, {1} micro-batches a step, order {2}; "
        "the slowest {4} takes {3:F2} of the mean\n",
        summary.stages, options.accumulate, options.schedule, summary.imbalance,
        int64_t(summary.stages) == roles ? "stage" : "role",
        summary.stages == 1 ? "" : "s", printReplicas(summary.replicas));
    if (options.accumulate < roles)
      os << "zc: warning: --accumulate " << options.accumulate
         << " is fewer micro-batches than the " << roles
         << (summary.replicas.empty() ? " stages" : " roles")
         << ", so that some always wait\n";
    else
      printBubble(options, roles, os);
  }
  if (options.zero > 0 && options.getNumRanks() == 1)
    os << "zc: note: --zero " << options.zero
       << " divides nothing on one rank\n";
  if (options.precision == "fp16")
    os << "zc: CPUs multiply no fp16: it is stored so, and multiplied as "
          "float32\n";
  for (const std::string &note : summary.notes)
    os << "zc: note: " << note << '\n';
  if (summary.proof)
    printProof(*summary.proof, os);
  if (summary.recomputedOps > 0)
    os << llvm::formatv(
        "zc: computes {0} kernel{1} of the forward again, about {2:F0}% of its "
        "work\n",
        summary.recomputedOps, summary.recomputedOps == 1 ? "" : "s",
        100 * summary.recomputedPart);
  os << "zc: plans " << printSize(summary.plannedBytes) << " of memory";
  if (summary.offloadedBytes > 0)
    os << (getDeviceKind(options.target).isHost ? ", and a file of "
                                                : ", and of the host's memory ")
       << printSize(summary.offloadedBytes) << " for what it offloads";
  os << '\n';
  os << llvm::formatv("zc: wrote {0}, {1}, in {2:F1} s\n", options.output,
                      printSize(summary.artifactBytes), seconds);
  os.flush();
}
