//===- InspectCopies.cpp - how often ranks hold what they train -----------===//
#include "compiler/Export/InspectPictures.h"
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/AmaxHistory.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {
namespace {

/// Adds up what ranks hold of tensors, each of which counts once as a whole.
class Counter {
public:
  void add(const plan::State &state, double ranks) {
    const Result<uint64_t> bytes = byteCount(state.type());
    if (!bytes.ok())
      return;
    held += ranks * double(*bytes);
    const uint64_t width = elementBytes(state.type().dtype());
    for (const FileTensor &tensor : fileTensorsOf(state))
      if (const Result<uint64_t> count = elementCount(tensor.type); count.ok())
        whole[state.slot() + " " + tensor.name()] = *count * width;
  }

  double count() const {
    double all = 0;
    for (const auto &[name, bytes] : whole)
      all += double(bytes);
    return all > 0 ? held / all : 0;
  }

private:
  double held = 0;
  std::map<std::string, uint64_t> whole; // by name: roles may share one
};

/// The parameters of a role that the forward reads as copies, with the bytes of
/// an element of these.
std::map<std::string, uint64_t> findCopies(const plan::Role &role) {
  std::map<std::string, uint64_t> widths;
  for (const plan::State &state : role.states())
    if (state.kind() == plan::COPY)
      widths[state.parameter()] = elementBytes(state.type().dtype());
  return widths;
}

/// Bytes of all gradients at once, of whole tensors: each is as wide as what
/// the forward reads, or, where micro-batches are added up, at least float32.
double countGradients(const plan::Role &role,
                      const std::map<std::string, uint64_t> &copied) {
  const bool accumulates = std::any_of(
      role.states().begin(), role.states().end(), [](const plan::State &state) {
        return state.kind() == plan::ACCUMULATOR;
      });
  const TrainedStates trained(role);
  uint64_t bytes = 0;
  for (const plan::State &state : role.states()) {
    if (!trained.contains(state))
      continue;
    auto copy = copied.find(state.name());
    uint64_t width = copy == copied.end() ? elementBytes(state.type().dtype())
                                          : copy->second;
    if (accumulates)
      width = std::max(width, elementBytes(plan::F32));
    for (const FileTensor &tensor : fileTensorsOf(state))
      if (const Result<uint64_t> count = elementCount(tensor.type); count.ok())
        bytes += *count * width;
  }
  return double(bytes);
}

/// By role.
std::vector<double> countRanks(const Mesh &mesh) {
  std::vector<double> counts(size_t(mesh.roles()));
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    ++counts[size_t(mesh.role(rank))];
  return counts;
}

} // namespace

ResidentCopies countCopies(const plan::Manifest &manifest) {
  ResidentCopies copies;
  const Result<Mesh> mesh = Mesh::of(manifest);
  if (!mesh.ok())
    return copies;
  const std::vector<double> ranksOf = countRanks(*mesh);
  Counter parameters, optimizer;
  double gradients = 0, wholeGradients = 0;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    const plan::Role &role = manifest.roles(i);
    const double ranks = size_t(i) < ranksOf.size() ? ranksOf[size_t(i)] : 0;
    const std::map<std::string, uint64_t> copied = findCopies(role);
    for (const plan::State &state : role.states())
      if (state.kind() == plan::COPY ||
          (state.kind() == plan::PARAMETER && copied.count(state.name()) == 0))
        parameters.add(state, ranks);
      else if ((state.kind() == plan::OPTIMIZER && !isAmaxHistory(state)) ||
               state.kind() == plan::PARAMETER)
        optimizer.add(state, ranks);
    const MemoryReport memory = measureMemory(manifest, i);
    gradients += ranks * double(memory.classes[plan::GRADIENTS]);
    wholeGradients += countGradients(role, copied);
  }
  copies.parameters = parameters.count();
  copies.gradients = wholeGradients > 0 ? gradients / wholeGradients : 0;
  copies.optimizer = optimizer.count();
  return copies;
}

} // namespace zc
