//===- InspectComm.cpp - what is sent in a step ---------------------------===//
#include "compiler/Export/AlgorithmNames.h"
#include "compiler/Export/DataParallel.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Collective/Schedule.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

namespace zc {
namespace {

/// Up to so many ranks are told apart; beyond, each counts as the busiest.
constexpr int64_t kMostListedRanks = 1024;

const char *const kTrafficNames[] = {
    "", "gradients", "parameters", "activations", "statistics", "scalars"};

/// "all-reduce" of ALL_REDUCE.
std::string operationName(plan::CollectiveKind kind) {
  std::string name = plan::CollectiveKind_Name(kind);
  for (char &c : name)
    c = c == '_' ? '-' : char(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// One role's traffic, of one of the two ways in which steps end.
class CommCounter {
public:
  CommCounter(const plan::Manifest &manifest, const Mesh &mesh, int index,
              bool isLate)
      : manifest(manifest), role(manifest.roles(index)), mesh(mesh),
        index(index), times(countRuns(manifest, index, isLate)),
        sent(size_t(std::min(mesh.ranks(), kMostListedRanks))) {
    for (int kind = 1; kind < plan::TrafficKind_ARRAYSIZE; ++kind)
      report.byKind[kTrafficNames[kind]];
  }

  CommReport run() {
    for (int i = 0; i < role.programs_size(); ++i)
      for (const plan::Instruction &instruction :
           role.programs(i).instructions())
        if (times.programs[i] > 0 && instruction.has_collective())
          add(role.programs(i), instruction.collective(), times.programs[i]);
    for (int i = 0; i < role.messages_size(); ++i)
      if (role.messages(i).sends() && times.messages[i] > 0)
        add(role.messages(i), times.messages[i]);
    report.sentBytes = *std::max_element(sent.begin(), sent.end());
    // A server and its workers send no multiple of what equal ranks do.
    if (!hasParameterServer(manifest))
      report.dataParallel.sentByOne = sentByZeroOne(manifest, role, mesh);
    report.dataParallel.reshardEvery = std::max(1u, role.reshard_every());
    return std::move(report);
  }

  /// Bytes that each listed rank sends; 0 for ranks of other roles.
  const std::vector<uint64_t> &perRank() const { return sent; }

private:
  CollectiveShape shapeOf(const plan::Program &program,
                          const plan::CollectiveCall &call) const {
    CollectiveShape shape;
    shape.kind = call.kind();
    shape.algorithm = call.algorithm();
    shape.root = call.root();
    shape.shift = call.shift();
    shape.ranks =
        call.holders_size() ? call.holders_size() : mesh.groupSize(call.axes());
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

  void sum(const std::vector<CommTraffic *> &sums, const CommTraffic &term) {
    for (CommTraffic *each : sums) {
      each->count += term.count;
      each->bytes += term.bytes;
      each->steps += term.steps;
    }
  }

  /// `bytesOf` says what a rank sends, unless there are too many of them.
  template <typename BytesOf>
  void addToRanks(uint64_t busiest, BytesOf bytesOf) {
    for (size_t rank = 0; rank < sent.size(); ++rank)
      if (mesh.ranks() > kMostListedRanks)
        sent[rank] += busiest;
      else if (mesh.role(int64_t(rank)) == index)
        sent[rank] += bytesOf(int64_t(rank));
  }

  void add(const plan::Program &program, const plan::CollectiveCall &call,
           uint64_t runs) {
    CommTraffic busiest{runs, call.sent_bytes() * runs, call.steps() * runs};
    const CollectiveShape shape = shapeOf(program, call);
    std::string axes;
    for (const std::string &axis : call.axes())
      axes += (axes.empty() ? "" : "+") + axis;
    sum({&report.byKind[kTrafficNames[call.traffic()]], &report.byAxis[axes],
         &report.byAlgorithm[printAlgorithm(effectiveAlgorithm(shape))],
         &report.byOperation[operationName(call.kind())]},
        busiest);
    if (isOfDataParallel(call))
      report.dataParallel.sent += double(busiest.bytes);
    std::vector<uint64_t> group(size_t(shape.ranks));
    if (mesh.ranks() <= kMostListedRanks)
      group = sentBy(shape);
    addToRanks(busiest.bytes, [&](int64_t rank) {
      return group[placeInGroup(rank, call)] * runs;
    });
  }

  /// Among the roles that hold a tied parameter, or the ranks along the axes.
  size_t placeInGroup(int64_t rank, const plan::CollectiveCall &call) const {
    const auto &holders = call.holders();
    if (holders.empty())
      return size_t(mesh.placeInGroup(rank, call.axes()));
    return size_t(std::find(holders.begin(), holders.end(), uint32_t(index)) -
                  holders.begin());
  }

  /// Every rank of the role sends it.
  void add(const plan::Message &message, uint64_t runs) {
    const uint64_t bytes = *byteCount(message.type());
    sum({&report.byKind["activations"], &report.byAxis[axes::kRole],
         &report.byOperation["message"]},
        {runs, bytes * runs, runs});
    addToRanks(bytes * runs, [&](int64_t) { return bytes * runs; });
    report.messages.push_back({index, int(message.peer()), message.name(),
                               message.gradient(), bytes, runs});
  }

  const plan::Manifest &manifest;
  const plan::Role &role;
  const Mesh &mesh;
  const int index;
  const RunCounts times;
  CommReport report;
  std::vector<uint64_t> sent;
  std::map<std::tuple<plan::CollectiveKind, plan::CollectiveAlgorithm, int64_t,
                      int64_t, int64_t, int64_t, int64_t>,
           std::vector<uint64_t>>
      cache;
};

/// Counts whole parameters of all roles, or, where the forward reads copies,
/// the copies, which are sent. One that several roles hold counts once.
uint64_t countParameters(const plan::Manifest &manifest, const Mesh &mesh) {
  uint64_t sum = 0;
  std::set<std::string> seen;
  for (const plan::Role &role : manifest.roles()) {
    const bool hasCopies = std::any_of(
        role.states().begin(), role.states().end(),
        [](const plan::State &state) { return state.kind() == plan::COPY; });
    for (const plan::State &state : role.states()) {
      // Units of two roles may be named alike.
      std::string name = state.name();
      for (const plan::UnitMember &member : state.members())
        name += "\n" + member.name();
      if (state.kind() != (hasCopies ? plan::COPY : plan::PARAMETER) ||
          (!state.name().empty() && !seen.insert(name).second))
        continue;
      plan::TensorType whole = state.type();
      if (state.whole_dims_size() > 0)
        *whole.mutable_dims() = state.whole_dims();
      // A unit that other axes divide is described by one of its shares.
      int64_t shares = 1;
      if (state.members_size() > 0)
        for (const plan::DimSharding &dim : state.members(0).sharding().dims())
          shares *= mesh.groupSize(dim.axes());
      if (Result<uint64_t> bytes = byteCount(whole); bytes.ok())
        sum += *bytes * uint64_t(shares);
    }
  }
  return sum;
}

CommReport measure(const plan::Manifest &manifest, bool isLate) {
  Result<Mesh> mesh = Mesh::of(manifest);
  assert(mesh.ok() && "manifests are verified");
  std::vector<CommReport> roles;
  std::vector<uint64_t> perRank(
      size_t(std::min(mesh->ranks(), kMostListedRanks)));
  size_t largest = 0;
  for (int i = 0; i < manifest.roles_size(); ++i) {
    CommCounter counter(manifest, *mesh, i, isLate);
    roles.push_back(counter.run());
    for (size_t rank = 0; rank < perRank.size(); ++rank)
      perRank[rank] = std::max(perRank[rank], counter.perRank()[rank]);
    if (roles[size_t(i)].sentBytes > roles[largest].sentBytes)
      largest = size_t(i);
  }
  CommReport report = roles[largest];
  report.perRank = perRank;
  report.parameterBytes = countParameters(manifest, *mesh);
  report.messages.clear();
  report.dataParallel = {0, 0, UINT32_MAX};
  for (const CommReport &each : roles) {
    report.dataParallel.sent += each.dataParallel.sent;
    report.dataParallel.sentByOne += each.dataParallel.sentByOne;
    report.dataParallel.reshardEvery = std::min(
        report.dataParallel.reshardEvery, each.dataParallel.reshardEvery);
  }
  for (const CommReport &each : roles)
    report.messages.insert(report.messages.end(), each.messages.begin(),
                           each.messages.end());
  if (roles.size() > 1) {
    report.role = int(largest);
    report.roles = std::move(roles);
  }
  return report;
}

} // namespace

RunCounts countRuns(const plan::Manifest &manifest, int index, bool isLate) {
  const plan::Role &role = manifest.roles(index);
  RunCounts counts{std::vector<uint64_t>(size_t(role.programs_size())),
                   std::vector<uint64_t>(size_t(role.messages_size()))};
  const plan::Order &order =
      isLate && role.has_train_late() ? role.train_late() : role.train();
  for (const plan::Action &action : order.actions()) {
    if (action.has_call())
      ++counts.programs[action.call().program()];
    if (action.has_send())
      ++counts.messages[action.send().message()];
  }
  if (order.actions_size() > 0)
    return counts;
  const std::string end =
      isLate ? programs::kCompressedApply : programs::kApply;
  const std::set<std::string> ofMicroBatches = {
      programs::kMicro, programs::kForward, programs::kBackward,
      programs::kWeights};
  const auto microBatches = uint64_t(manifest.accumulate());
  for (int i = 0; i < role.programs_size(); ++i) {
    const std::string &name = role.programs(i).name();
    if (name == programs::kStep || name == end)
      counts.programs[size_t(i)] = 1;
    else if (ofMicroBatches.count(name))
      counts.programs[size_t(i)] = microBatches;
  }
  for (int i = 0; i < role.messages_size(); ++i)
    counts.messages[size_t(i)] = role.messages(i).eval() ? 0 : microBatches;
  return counts;
}

CommReport measureComm(const plan::Manifest &manifest) {
  return measure(manifest, /*isLate=*/false);
}

std::optional<CommReport>
measureCompressedComm(const plan::Manifest &manifest) {
  if (manifest.freeze_step() == 0)
    return std::nullopt;
  return measure(manifest, /*isLate=*/true);
}

} // namespace zc
