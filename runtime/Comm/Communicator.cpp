#include "runtime/Comm/Communicator.h"

namespace zc {

Status Communicator::runOnce(const CollectiveLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(auto collective, prepare(launch));
  return collective->run();
}

/// Nobody has the largest of all before everyone has given his own.
Status Communicator::barrier() {
  int32_t here = 1;
  return allReduce(&here, 1, ElementType::I32, Reduction::Max);
}

Status Communicator::broadcast(void *data, uint64_t bytes, int root) {
  CollectiveLaunch launch;
  launch.shape = {plan::BROADCAST,
                  plan::RECURSIVE_DOUBLING,
                  size(),
                  int64_t(bytes),
                  1,
                  root};
  launch.type = ElementType::U8;
  launch.source = launch.destination = data;
  return runOnce(launch);
}

Status Communicator::allReduce(void *data, int64_t count, ElementType type,
                               Reduction reduction) {
  // Few elements: the fewest steps count.
  plan::CollectiveAlgorithm algorithm =
      count < size() ? plan::RECURSIVE_DOUBLING : plan::AUTO;
  CollectiveLaunch launch;
  launch.shape = {plan::ALL_REDUCE, algorithm, size(), count,
                  kernels::elementBytes(type)};
  launch.type = type;
  launch.reduction = reduction;
  launch.source = launch.destination = data;
  return runOnce(launch);
}

Status Communicator::allGather(const void *part, void *all, uint64_t bytes) {
  CollectiveLaunch launch;
  launch.shape = {plan::ALL_GATHER, plan::AUTO, size(), int64_t(bytes) * size(),
                  1};
  launch.type = ElementType::U8;
  launch.source = part;
  launch.destination = all;
  return runOnce(launch);
}

Status Communicator::reduceScatter(const void *all, void *part, int64_t count,
                                   ElementType type, Reduction reduction) {
  CollectiveLaunch launch;
  launch.shape = {plan::REDUCE_SCATTER, plan::AUTO, size(), count * size(),
                  kernels::elementBytes(type)};
  launch.type = type;
  launch.reduction = reduction;
  launch.source = all;
  launch.destination = part;
  return runOnce(launch);
}

} // namespace zc
