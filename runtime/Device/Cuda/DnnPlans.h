// Chooses the engine of cuDNN that computes a graph.
#ifndef ZC_RUNTIME_DEVICE_CUDA_DNNPLANS_H
#define ZC_RUNTIME_DEVICE_CUDA_DNNPLANS_H

#include "runtime/Device/Cuda/AlgorithmChoice.h"
#include "runtime/Device/Cuda/DnnGraph.h"
#include "runtime/Device/Cuda/Executables.h"
#include "runtime/Device/Cuda/Stopwatch.h"

#include <map>

namespace zc::cuda {

/// An engine with its choices, made ready: it runs any graph of the form of the
/// one that it was made for, which lives as long.
struct DnnPlan {
  DnnPlan(const Dnn &dnn, std::shared_ptr<const DnnGraph> graph)
      : dnn(dnn), graph(std::move(graph)) {}
  ~DnnPlan();
  DnnPlan(const DnnPlan &) = delete;

  const Dnn &dnn;
  std::shared_ptr<const DnnGraph> graph;
  cudnnBackendDescriptor_t engine = nullptr, descriptor = nullptr;
  uint64_t workspaceBytes = 0;
};

/// The plans of a device: the quickest of the engines that the library ranks
/// highest, measured once for each form of graph.
class DnnPlans {
public:
  /// Plans for the GPU of `stream`. Without measurements the engine highest in
  /// rank is taken, but run once all the same.
  static Result<std::unique_ptr<DnnPlans>>
  open(const Driver &driver, CUstream stream, AlgorithmChoice choice);
  /// Plans for a described GPU: unmeasured, the highest in rank is taken.
  explicit DnnPlans(std::unique_ptr<Dnn> dnn) : dnn(std::move(dnn)) {}

  const Dnn &library() const { return *dnn; }
  bool tf32() const { return choice.tf32; }

  /// An executable of the graph. Unsupported if the library has no plan for it
  /// that `workspaceBytes` suffice for.
  ExecutableResult make(std::shared_ptr<DnnGraph> graph, void *workspace,
                        uint64_t workspaceBytes);

  /// `made`, or where the library lacks it, an error that says so of `what` it
  /// was to compute, and names the library call (as --libraries does) that is
  /// to be left out.
  ExecutableResult advise(ExecutableResult made, const std::string &what,
                          const std::string &call) const;

  /// Workspace of the plan that the last make() took.
  uint64_t lastWorkspaceBytes() const { return last; }

private:
  using Plan = std::shared_ptr<const DnnPlan>;

  Result<std::vector<Plan>> candidates(const std::shared_ptr<DnnGraph> &graph,
                                       uint64_t workspaceBytes) const;
  Result<Plan> measure(const std::vector<Plan> &plans,
                       cudnnBackendDescriptor_t variant) const;

  std::unique_ptr<Dnn> dnn;
  std::unique_ptr<Stopwatch> watch;
  AlgorithmChoice choice;
  std::map<std::string, Plan> known; // by form and workspace
  uint64_t last = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DNNPLANS_H
