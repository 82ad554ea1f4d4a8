// A stand-in for cuDNN's graphs, with engines that compute the operations of a
// graph one by one. It writes down the operations of every graph, and which
// engine computes it.
#include "test/unit/runtime/Device/Cuda/FakeDnnGraph.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace zc::test;

namespace {

/// Engines 0 and 1 are by the model of the GPU, 2 and 3 of last resort; the
/// first ZC_FAKE_CUDNN_REFUSED have no plan, because of ZC_FAKE_CUDNN_WHY.
constexpr int64_t kEngines = 2;

int number(const char *variable, int usual) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : usual;
}

int numRefused() { return number("ZC_FAKE_CUDNN_REFUSED", 0); }

/// 0 multiplies on tensor cores, or as ZC_FAKE_CUDNN_NOTE says, the plan of 1
/// needs more memory than there is, the sums of 2 are in no fixed order. All
/// but pooling need a workspace.
int64_t workspaceOf(int engine, const std::vector<Operation> &operations) {
  constexpr int64_t kUsual = 4096, kTooMuch = int64_t(1) << 40;
  if (engine == 1)
    return kTooMuch;
  return operations.front().isPooling() ? 0 : kUsual;
}

std::vector<Operation> operationsOfPlan(const Descriptor &plan) {
  return operationsOf(plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
}

int64_t giveNotes(int engine, cudnnBackendNumericalNote_t *notes) {
  if (engine != 0 && engine != 2)
    return 0;
  *notes = engine == 0
               ? cudnnBackendNumericalNote_t(number(
                     "ZC_FAKE_CUDNN_NOTE", CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
               : CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  return 1;
}

cudnnBackendHeurMode_t modeOf(const Descriptor &ranking) {
  return ranking.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
}

int64_t giveEngines(const Descriptor &ranking, int64_t requested,
                    void *values) {
  const Descriptor &graph = ranking.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (std::getenv("ZC_FAKE_CUDNN_NO_PLAN") || !isSupported(operationsOf(graph)))
    return 0;
  if (requested == 0)
    return kEngines;
  bool last = modeOf(ranking) == CUDNN_HEUR_MODE_FALLBACK;
  for (int64_t i = 0; i < std::min(requested, kEngines); ++i) {
    Descriptor &engine = at(static_cast<cudnnBackendDescriptor_t *>(values)[i]);
    engine.values = graph.values;
    engine.finalized = true;
    engine.engine = int(last * kEngines + i);
  }
  return std::min(requested, kEngines);
}

cudaStream_t &currentStream() {
  static thread_local cudaStream_t stream = nullptr;
  return stream;
}

} // namespace

void *zc::test::dnnStream() { return currentStream(); }

extern "C" {

/// Fails as ZC_FAKE_CUDNN_CREATE says.
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  if (int failure = number("ZC_FAKE_CUDNN_CREATE", 0))
    return cudnnStatus_t(failure);
  *handle = reinterpret_cast<cudnnHandle_t>(new int);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  currentStream() = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() {
  const char *version = std::getenv("ZC_FAKE_CUDNN_VERSION");
  return version ? size_t(std::atoi(version)) : CUDNN_VERSION;
}
void cudnnGetLastErrorString(char *message, size_t size) {
  std::snprintf(message, size, "the fake's reason");
}
const char *cudnnGetErrorString(cudnnStatus_t) { return "fake status"; }

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type, {}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &at(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  if (at(descriptor).finalized)
    return CUDNN_STATUS_NOT_INITIALIZED;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i < count; ++i)
      if (!at(static_cast<const cudnnBackendDescriptor_t *>(values)[i])
               .finalized)
        return CUDNN_STATUS_BAD_PARAM;
  auto *bytes = static_cast<const char *>(values);
  at(descriptor).values[name] = {bytes, bytes + size_t(count) * sizeOf(type)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor &own = at(descriptor);
  own.finalized = true;
  if (own.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    own.engine = own.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine;
    return own.engine < numRefused()
               ? cudnnStatus_t(number("ZC_FAKE_CUDNN_WHY",
                                      CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH))
               : CUDNN_STATUS_SUCCESS;
  }
  if (own.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    return modeOf(own) == CUDNN_HEUR_MODE_B ? CUDNN_STATUS_NOT_SUPPORTED
                                            : CUDNN_STATUS_SUCCESS;
  if (own.type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
    return CUDNN_STATUS_SUCCESS;
  std::vector<Operation> operations = operationsOf(own);
  for (const Operation &op : operations)
    zc::test::noteFake("cudnn", op.print());
  return isSound(operations) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t,
                                       int64_t requested, int64_t *count,
                                       void *values) {
  const Descriptor &own = at(descriptor);
  *count = 1;
  switch (name) {
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    *static_cast<int64_t *>(values) =
        workspaceOf(own.engine, operationsOfPlan(own));
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    *count = giveEngines(own, requested, values);
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    at(*static_cast<cudnnBackendDescriptor_t *>(values)).engine = own.engine;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    *count = giveNotes(own.engine,
                       static_cast<cudnnBackendNumericalNote_t *>(values));
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    *count = 0;
    return CUDNN_STATUS_SUCCESS;
  default:
    return CUDNN_STATUS_BAD_PARAM;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant) {
  std::vector<Operation> operations = operationsOfPlan(at(plan));
  Numbers ids = at(variant).list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto places = at(variant).list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> memory;
  for (size_t i = 0; i < ids.size(); ++i)
    memory[ids[i]] = places[i];
  // Values that the host gives are read now.
  auto scalars = std::make_shared<std::map<int64_t, float>>();
  for (const Operation &op : operations) {
    std::vector<GraphTensor> all = op.inputs;
    all.push_back(op.result);
    for (const GraphTensor &input : all) {
      if (input.isVirtual)
        continue;
      void *&place = memory.at(input.id);
      if (!input.isByValue && reinterpret_cast<uintptr_t>(place) % 16 != 0)
        return CUDNN_STATUS_BAD_PARAM;
      if (input.isByValue && !scalars->count(input.id)) {
        (*scalars)[input.id] = *static_cast<float *>(place);
        place = &(*scalars)[input.id];
      }
    }
  }
  auto bytes = size_t(workspaceOf(at(plan).engine, operations));
  auto *workspace = at(variant).get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (bytes > 0 && (!workspace || !isAligned(workspace, 256)))
    return CUDNN_STATUS_BAD_PARAM;
  zc::test::enqueueFake(zc::test::dnnStream(),
                        "cudnnBackendExecute engine " +
                            std::to_string(at(plan).engine) + ": " +
                            operations.front().print(),
                        [operations, memory, scalars, workspace, bytes] {
                          if (bytes > 0)
                            std::memset(workspace, 0xff, bytes); // not a number
                          zc::test::computeGraph(operations, memory);
                        });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
