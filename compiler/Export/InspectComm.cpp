//===- InspectComm.cpp - what is sent in a step ---------------------------===//
#include "compiler/Export/AlgorithmNames.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Collective/Schedule.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <tuple>

namespace zc {
namespace {

/// Up to so many ranks are told apart; beyond, each counts as the busiest.
constexpr int64_t kMostListedRanks = 1024;

const char *const kTrafficNames[] = {
    "", "gradients", "parameters", "activations", "statistics", "scalars"};

struct Axis {
  std::string name;
  int64_t size;
};

class CommCounter {
public:
  explicit CommCounter(const plan::Manifest &manifest) {
    for (const plan::Setting &axis : manifest.mesh()) {
      mesh.push_back({axis.name(), std::stol(axis.value())});
      numRanks *= mesh.back().size;
    }
    report.perRank.resize(std::min(numRanks, kMostListedRanks));
    for (int kind = 1; kind < plan::TrafficKind_ARRAYSIZE; ++kind)
      report.byKind[kTrafficNames[kind]];
    const plan::Role &role = manifest.roles(0);
    hasCopies = std::any_of(
        role.states().begin(), role.states().end(),
        [](const plan::State &state) { return state.kind() == plan::COPY; });
    for (const plan::State &state : role.states())
      addParameters(state);
  }

  /// `end`: of a step that is not one program.
  CommReport run(const plan::Manifest &manifest, const std::string &end) {
    for (const plan::Program &program : manifest.roles(0).programs()) {
      uint64_t times = program.name() == "step" || program.name() == end ? 1
                       : program.name() == "micro" ? manifest.accumulate()
                                                   : 0;
      for (const plan::Instruction &instruction : program.instructions())
        if (times > 0 && instruction.has_collective())
          add(program, instruction.collective(), times);
    }
    for (uint64_t bytes : report.perRank)
      report.sentBytes = std::max(report.sentBytes, bytes);
    return std::move(report);
  }

private:
  void addParameters(const plan::State &state) {
    // Where the forward reads copies, those are the parameters that are sent.
    if (state.kind() != (hasCopies ? plan::COPY : plan::PARAMETER))
      return;
    plan::TensorType whole = state.type();
    if (state.whole_dims_size() > 0)
      *whole.mutable_dims() = state.whole_dims();
    if (Result<uint64_t> bytes = byteCount(whole); bytes.ok())
      report.parameterBytes += *bytes * sharesOf(state);
  }

  /// A unit that other axes divide is described by one of its shares.
  int64_t sharesOf(const plan::State &state) const {
    int64_t shares = 1;
    if (state.members_size() > 0)
      for (const plan::DimSharding &dim : state.members(0).sharding().dims())
        for (const std::string &name : dim.axes())
          for (const Axis &axis : mesh)
            shares *= axis.name == name ? axis.size : 1;
    return shares;
  }

  CollectiveShape shapeOf(const plan::Program &program,
                          const plan::CollectiveCall &call) const {
    CollectiveShape shape;
    shape.kind = call.kind();
    shape.algorithm = call.algorithm();
    shape.root = call.root();
    shape.shift = call.shift();
    for (const std::string &name : call.axes())
      for (const Axis &axis : mesh)
        if (axis.name == name)
          shape.ranks *= axis.size;
    const plan::TensorType &from = program.buffers(call.source()).type();
    const plan::TensorType &to = program.buffers(call.destination()).type();
    uint64_t elements = std::max(*elementCount(from), *elementCount(to));
    shape.elements = static_cast<int64_t>(elements);
    if (elements > 0)
      shape.elementBytes = static_cast<int64_t>(
          std::max(*byteCount(from), *byteCount(to)) / elements);
    return shape;
  }

  /// Bytes that each rank of a group sends.
  std::vector<uint64_t> sentBy(const CollectiveShape &shape) {
    auto key = std::make_tuple(shape.kind, shape.algorithm, shape.ranks,
                               shape.elements, shape.elementBytes, shape.root,
                               shape.shift);
    auto [found, isNew] = cache.try_emplace(key);
    if (!isNew)
      return found->second;
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      uint64_t elements = 0;
      for (const Round &round : scheduleOf(shape, rank).rounds)
        for (const Message &message : round.messages)
          if (message.isSend)
            elements += message.span.count;
      found->second.push_back(elements * shape.elementBytes);
    }
    return found->second;
  }

  /// A rank's number in its group: row-major over the axes as written.
  int64_t numberInGroup(int64_t rank, const plan::CollectiveCall &call) const {
    std::vector<int64_t> coordinates(mesh.size());
    for (size_t axis = mesh.size(); axis-- > 0;) {
      coordinates[axis] = rank % mesh[axis].size;
      rank /= mesh[axis].size;
    }
    int64_t number = 0;
    for (const std::string &name : call.axes())
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        if (mesh[axis].name == name)
          number = number * mesh[axis].size + coordinates[axis];
    return number;
  }

  void add(const plan::Program &program, const plan::CollectiveCall &call,
           uint64_t times) {
    CommTraffic busiest{times, call.sent_bytes() * times, call.steps() * times};
    const CollectiveShape shape = shapeOf(program, call);
    CommTraffic &algorithm =
        report.byAlgorithm[printAlgorithm(effectiveAlgorithm(shape))];
    CommTraffic &kind = report.byKind[kTrafficNames[call.traffic()]];
    std::string axes;
    for (const std::string &axis : call.axes())
      axes += (axes.empty() ? "" : "+") + axis;
    for (CommTraffic *sum : {&kind, &report.byAxis[axes], &algorithm}) {
      sum->count += busiest.count;
      sum->bytes += busiest.bytes;
      sum->steps += busiest.steps;
    }
    if (numRanks > kMostListedRanks) {
      for (uint64_t &bytes : report.perRank)
        bytes += busiest.bytes;
      return;
    }
    std::vector<uint64_t> sent = sentBy(shape);
    for (int64_t rank = 0; rank < numRanks; ++rank)
      report.perRank[rank] += sent[numberInGroup(rank, call)] * times;
  }

  std::vector<Axis> mesh;
  int64_t numRanks = 1;
  bool hasCopies = false;
  CommReport report;
  std::map<std::tuple<plan::CollectiveKind, plan::CollectiveAlgorithm, int64_t,
                      int64_t, int64_t, int64_t, int64_t>,
           std::vector<uint64_t>>
      cache;
};

} // namespace

CommReport measureComm(const plan::Manifest &manifest) {
  return CommCounter(manifest).run(manifest, "apply");
}

std::optional<CommReport>
measureCompressedComm(const plan::Manifest &manifest) {
  if (manifest.freeze_step() == 0)
    return std::nullopt;
  return CommCounter(manifest).run(manifest, kCompressedProgram);
}

} // namespace zc
