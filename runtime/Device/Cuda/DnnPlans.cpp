#include "runtime/Device/Cuda/DnnPlans.h"
#include "runtime/Device/Cuda/Advice.h"

#include <algorithm>
#include <array>

namespace zc::cuda {
namespace {

/// Plans that are measured, at most; of engines that compile kernels for the
/// graph, which takes tenths of a second, fewer.
constexpr size_t kMostCandidates = 4, kMostCompiled = 2;

/// A descriptor of its own lifetime.
class Owned {
public:
  Owned(const Dnn &dnn, cudnnBackendDescriptorType_t type) : dnn(dnn) {
    created = dnn.check(dnn.cudnnBackendCreateDescriptor(type, &descriptor),
                        "cudnnBackendCreateDescriptor");
  }
  Owned(Owned &&other) noexcept
      : dnn(other.dnn), created(other.created), descriptor(other.release()) {}
  ~Owned() {
    if (descriptor)
      dnn.cudnnBackendDestroyDescriptor(descriptor);
  }

  const Status &status() const { return created; }
  cudnnBackendDescriptor_t get() const { return descriptor; }
  cudnnBackendDescriptor_t release() {
    return std::exchange(descriptor, nullptr);
  }

  template <typename T>
  Status set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             const T &value) {
    return dnn.check(
        dnn.cudnnBackendSetAttribute(descriptor, name, type, 1, &value),
        "cudnnBackendSetAttribute");
  }
  Status finalize() {
    return dnn.check(dnn.cudnnBackendFinalize(descriptor),
                     "cudnnBackendFinalize");
  }
  Status get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             int64_t most, int64_t &count, void *values) const {
    return dnn.check(dnn.cudnnBackendGetAttribute(descriptor, name, type, most,
                                                  &count, values),
                     "cudnnBackendGetAttribute");
  }

private:
  const Dnn &dnn;
  Status created;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// The library's engines for a graph, by one of its rankings.
Result<std::vector<Owned>> rank(const Dnn &dnn, DnnGraph::Descriptor graph,
                                cudnnBackendHeurMode_t mode) {
  Owned ranking(dnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  ZC_RETURN_IF_ERROR(ranking.status());
  ZC_RETURN_IF_ERROR(ranking.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, graph));
  ZC_RETURN_IF_ERROR(
      ranking.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  if (dnn.described)
    ZC_RETURN_IF_ERROR(ranking.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   dnn.described));
  ZC_RETURN_IF_ERROR(ranking.finalize());
  int64_t count = 0;
  ZC_RETURN_IF_ERROR(ranking.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, count,
                                 nullptr));
  std::vector<Owned> engines;
  std::vector<cudnnBackendDescriptor_t> places;
  for (int64_t i = 0; i < count; ++i) {
    engines.emplace_back(dnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    ZC_RETURN_IF_ERROR(engines.back().status());
    places.push_back(engines.back().get());
  }
  if (count > 0)
    ZC_RETURN_IF_ERROR(ranking.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, count, count,
                                   places.data()));
  // It may have counted engines that it then does not give.
  while (int64_t(engines.size()) > count)
    engines.pop_back();
  return engines;
}

/// An engine's properties, as it reports them.
struct Notes {
  bool rounds = false, hasFixedOrder = true; // its numbers
  bool compiles = false;
};

Result<Notes> notesOf(const Dnn &dnn, const Owned &configuration) {
  Owned engine(dnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  ZC_RETURN_IF_ERROR(engine.status());
  cudnnBackendDescriptor_t place = engine.get();
  int64_t count = 0;
  ZC_RETURN_IF_ERROR(configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, count,
                                       &place));
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT>
      found = {};
  ZC_RETURN_IF_ERROR(
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, count, found.data()));
  Notes notes;
  for (int64_t i = 0; i < count; ++i) {
    cudnnBackendNumericalNote_t note = found[size_t(i)];
    notes.rounds |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                    note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
                    note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
                    note == CUDNN_NUMERICAL_NOTE_FFT ||
                    note == CUDNN_NUMERICAL_NOTE_WINOGRAD;
    if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
      notes.hasFixedOrder = false;
  }
  std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT>
      behavior = {};
  ZC_RETURN_IF_ERROR(
      engine.get(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                 CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, count, behavior.data()));
  for (int64_t i = 0; i < count; ++i)
    notes.compiles |=
        behavior[size_t(i)] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  return notes;
}

/// Makes the plan of an engine, which becomes the plan's.
Status finish(Owned &configuration, DnnPlan &plan) {
  Owned made(plan.dnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  ZC_RETURN_IF_ERROR(made.status());
  if (plan.dnn.handle)
    ZC_RETURN_IF_ERROR(made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                CUDNN_TYPE_HANDLE, plan.dnn.handle));
  else
    ZC_RETURN_IF_ERROR(made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                plan.dnn.described));
  ZC_RETURN_IF_ERROR(made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                              CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              configuration.get()));
  ZC_RETURN_IF_ERROR(made.finalize());
  int64_t bytes = 0, count = 0;
  ZC_RETURN_IF_ERROR(made.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                              CUDNN_TYPE_INT64, 1, count, &bytes));
  plan.workspaceBytes = uint64_t(bytes);
  plan.descriptor = made.release();
  plan.engine = configuration.release();
  return Status();
}

Status run(const DnnPlan &plan, cudnnBackendDescriptor_t variant,
           CUstream stream) {
  const Dnn &dnn = plan.dnn;
  ZC_RETURN_IF_ERROR(dnn.check(
      dnn.cudnnSetStream(dnn.handle, reinterpret_cast<cudaStream_t>(stream)),
      "cudnnSetStream"));
  return dnn.check(
      dnn.cudnnBackendExecute(dnn.handle, plan.descriptor, variant),
      "cudnnBackendExecute");
}

class DnnExecutable final : public CudaExecutable {
public:
  DnnExecutable(std::shared_ptr<const DnnPlan> plan,
                std::shared_ptr<DnnGraph> graph,
                cudnnBackendDescriptor_t variant)
      : plan(std::move(plan)), graph(std::move(graph)), variant(variant) {}

  Status enqueue(CUstream stream) override {
    return run(*plan, variant, stream);
  }

private:
  std::shared_ptr<const DnnPlan> plan;
  std::shared_ptr<DnnGraph> graph; // whose the scalars and `variant` are
  cudnnBackendDescriptor_t variant;
};

} // namespace

DnnPlan::~DnnPlan() {
  for (cudnnBackendDescriptor_t owned : {descriptor, engine})
    if (owned)
      dnn.cudnnBackendDestroyDescriptor(owned);
}

Result<std::unique_ptr<DnnPlans>>
DnnPlans::open(const Driver &driver, CUstream stream, AlgorithmChoice choice) {
  ZC_ASSIGN_OR_RETURN(std::unique_ptr<Dnn> dnn, Dnn::open());
  auto plans = std::make_unique<DnnPlans>(std::move(dnn));
  ZC_ASSIGN_OR_RETURN(plans->watch, Stopwatch::open(driver, stream));
  plans->choice = choice;
  return plans;
}

ExecutableResult DnnPlans::make(std::shared_ptr<DnnGraph> graph,
                                void *workspace, uint64_t workspaceBytes) {
  std::string form = strCat(graph->getForm(), '|', workspaceBytes);
  Plan &plan = known[form];
  std::vector<Plan> plans;
  if (!plan) {
    ZC_ASSIGN_OR_RETURN(plans, candidates(graph, workspaceBytes));
  }
  ZC_ASSIGN_OR_RETURN(DnnGraph::Descriptor variant, graph->pack(workspace));
  if (!plan) {
    ZC_ASSIGN_OR_RETURN(plan, measure(plans, variant));
  }
  last = plan->workspaceBytes;
  return std::unique_ptr<Executable>(
      std::make_unique<DnnExecutable>(plan, std::move(graph), variant));
}

ExecutableResult DnnPlans::advise(ExecutableResult made,
                                  const std::string &what,
                                  const std::string &call) const {
  if (made.ok())
    return made;
  return adviseOnLack(made.status(), "cuDNN " + dnn->printVersion(), what,
                      call);
}

/// All engines that the library knows for the graph, in its order: by its model
/// of this GPU, by its simpler one, then those of last resort. One without a
/// plan, or whose plan needs more workspace, is passed over.
Result<std::vector<DnnPlans::Plan>>
DnnPlans::candidates(const std::shared_ptr<DnnGraph> &graph,
                     uint64_t workspaceBytes) const {
  ZC_ASSIGN_OR_RETURN(DnnGraph::Descriptor described, graph->finish());
  using Rounding = DnnGraph::Rounding;
  auto mostOf = [&](const Notes &notes) -> size_t {
    return !choice.measures ? 1
           : notes.compiles ? kMostCompiled
                            : kMostCandidates;
  };
  size_t count = 0;
  uint64_t least = UINT64_MAX;
  std::string why = dnn->lack; // besides what engines are not made for
  auto works = [&](const Status &status) {
    if (!status.ok() && status.code() != StatusCode::Unsupported)
      why = status.message();
    return status.ok();
  };
  std::vector<Plan> found, inAnyOrder;
  for (cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    Result<std::vector<Owned>> engines = rank(*dnn, described, mode);
    if (!works(engines.status())) // not every graph has every ranking
      continue;
    for (Owned &engine : *engines) {
      ++count;
      Result<Notes> notes = notesOf(*dnn, engine);
      if (!works(notes.status()) ||
          (graph->rounding == Rounding::Exact && notes->rounds))
        continue;
      bool fits = notes->hasFixedOrder || graph->rounding == Rounding::AnyOrder;
      std::vector<Plan> &plans = fits ? found : inAnyOrder;
      auto plan = std::make_shared<DnnPlan>(*dnn, graph);
      if (plans.size() >= mostOf(*notes) || !works(finish(engine, *plan)))
        continue;
      least = std::min(least, plan->workspaceBytes);
      if (plan->workspaceBytes <= workspaceBytes)
        plans.push_back(std::move(plan));
    }
    if (!found.empty())
      return found;
  }
  if (!inAnyOrder.empty())
    return inAnyOrder;
  if (least != UINT64_MAX)
    return makeError(StatusCode::Unsupported, "cuDNN's plans need ", least,
                     " bytes of workspace at least, and ", workspaceBytes,
                     " are planned");
  return makeError(StatusCode::Unsupported, "none of cuDNN's ", count,
                   " engines has a plan", why.empty() ? "" : " (", why,
                   why.empty() ? "" : ")");
}

/// A plan that fails is passed over; of one alone, that is the answer. Also one
/// plan is run, not to load its code while a program is captured.
Result<DnnPlans::Plan>
DnnPlans::measure(const std::vector<Plan> &plans,
                  cudnnBackendDescriptor_t variant) const {
  if (!watch)
    return plans.front();
  Plan quickest;
  float best = 0;
  Status failed;
  for (const Plan &plan : plans) {
    Result<float> time = watch->time(
        [&](CUstream stream) { return run(*plan, variant, stream); });
    if (!time.ok()) {
      failed = time.status();
    } else if (!quickest || *time < best) {
      best = *time;
      quickest = plan;
    }
  }
  if (!quickest)
    return failed;
  return quickest;
}

} // namespace zc::cuda
