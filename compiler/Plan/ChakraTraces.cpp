//===- ChakraTraces.cpp - a plan for other simulators ---------------------===//
#include "compiler/Plan/ChakraTraces.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Plan/Types.h"
#include "runtime/Simulate/OrderWalk.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace zc {
namespace {

using google::protobuf::io::CodedOutputStream;

/// Field numbers and enumerators of et_def.proto.
enum NodeType {
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7
};
enum NodeField { kId = 1, kName, kType, kCtrlDeps, kDataDeps, kStart, kLasts };
constexpr uint32_t kNodeAttributes = 10;
enum ValueField {
  kInt32 = 7,
  kInt64 = 9,
  kUint64 = 13,
  kBool = 27,
  kString = 29
};

int chakraKind(plan::CollectiveKind kind) {
  switch (kind) {
  case plan::REDUCE:
    return 1;
  case plan::ALL_GATHER:
    return 2;
  case plan::GATHER:
    return 3;
  case plan::SCATTER:
    return 4;
  case plan::BROADCAST:
    return 5;
  case plan::ALL_TO_ALL:
    return 6;
  case plan::REDUCE_SCATTER:
    return 7;
  default:
    return 0; // all-reduce
  }
}

/// A message in Protobuf's wire format.
class WireMessage {
public:
  void addNumber(uint32_t field, uint64_t value) {
    addVarint(uint64_t(field) << 3);
    addVarint(value);
  }
  void addBytes(uint32_t field, const std::string &value) {
    addVarint(uint64_t(field) << 3 | 2);
    addDelimited(value);
  }
  void addList(uint32_t field, const std::vector<uint64_t> &values) {
    WireMessage list;
    for (uint64_t value : values)
      list.addVarint(value);
    if (!values.empty())
      addBytes(field, list.bytes);
  }
  void addDelimited(const std::string &value) {
    addVarint(value.size());
    bytes += value;
  }
  void addAttribute(const char *name, ValueField type, uint64_t value) {
    WireMessage attribute;
    attribute.addBytes(1, name);
    attribute.addNumber(type, value);
    addBytes(kNodeAttributes, attribute.bytes);
  }
  void addText(const char *name, const std::string &value) {
    WireMessage attribute;
    attribute.addBytes(1, name);
    attribute.addBytes(kString, value);
    addBytes(kNodeAttributes, attribute.bytes);
  }

  std::string bytes;

private:
  void addVarint(uint64_t value) {
    uint8_t room[10];
    bytes.append(
        reinterpret_cast<const char *>(room),
        size_t(CodedOutputStream::WriteVarint64ToArray(value, room) - room));
  }
};

/// A node of each rank of a role; the peers are those of one rank.
struct TracedNode {
  NodeType type = kCompute;
  std::string name;
  std::vector<uint64_t> order, all; // ids in front on the stream; all of them
  double begin = 0, end = 0;
  const plan::Program *program = nullptr;
  const plan::Instruction *instruction = nullptr;
  const plan::Message *message = nullptr;
  uint64_t tag = 0; // of what is sent or received
  bool isOfHost = false;
};

/// When the calls and messages of a role were.
struct RoleTimes {
  struct Call {
    const SimulatedSpan *span = nullptr;
    std::map<int, const SimulatedSpan *> instructions;
  };
  std::deque<Call> calls;
  std::map<std::pair<uint32_t, uint32_t>, const SimulatedSpan *> messages;
};

std::vector<RoleTimes> timesOf(const PlanReport &report) {
  std::vector<RoleTimes> times(report.roles.size());
  std::vector<RoleTimes::Call> open(report.roles.size());
  // A call ends behind all of its instructions.
  for (const SimulatedSpan &span : report.simulated.orders.spans) {
    RoleTimes &role = times[span.role];
    if (span.kind == SimulatedSpan::Kind::Instruction) {
      open[span.role].instructions[span.instruction] = &span;
    } else if (span.kind == SimulatedSpan::Kind::Call) {
      open[span.role].span = &span;
      role.calls.push_back(std::move(open[span.role]));
      open[span.role] = RoleTimes::Call();
    } else {
      role.messages[{span.message->id(), span.microBatch}] = &span;
    }
  }
  return times;
}

/// Goes through a role's order as ranks do, and notes what waits for what.
class RoleTracer {
public:
  RoleTracer(const plan::Role &role, const RoleUse &use, RoleTimes &times,
             uint64_t tagsOfMessage, double callSeconds)
      : role(role), use(use), times(times), tagsOfMessage(tagsOfMessage),
        callSeconds(callSeconds) {}

  std::vector<TracedNode> trace() {
    for (const plan::Action &action : role.train().actions()) {
      awaitMessages(action);
      if (action.has_call())
        addCall(action.call());
      else if (!action.has_feed())
        addMove(*moveOf(action));
    }
    return std::move(nodes);
  }

private:
  struct Moving : MovingMessage {
    uint64_t id;
  };

  uint64_t add(TracedNode node) {
    std::sort(node.all.begin(), node.all.end());
    node.all.erase(std::unique(node.all.begin(), node.all.end()),
                   node.all.end());
    nodes.push_back(std::move(node));
    return nodes.size();
  }

  void awaitMessages(const plan::Action &action) {
    auto ended = std::stable_partition(
        moving.begin(), moving.end(), [&](const Moving &each) {
          return !mustEndBefore(role, use, action, each);
        });
    for (auto each = ended; each != moving.end(); ++each)
      reached.push_back(each->id);
    moving.erase(ended, moving.end());
  }

  void addMove(const plan::Move &move) {
    const plan::Message &message = role.messages(int(move.message()));
    TracedNode node;
    node.type = message.sends() ? kSend : kReceive;
    node.name = std::string(message.sends() ? "send " : "receive ") +
                (message.gradient() ? "gradient " : "activation ") +
                std::to_string(move.micro_batch());
    node.message = &message;
    node.tag = message.id() * tagsOfMessage + move.micro_batch();
    node.all = reached;
    // Messages of a line follow one another.
    uint64_t &last = lines[{message.line(), message.sends()}];
    if (last > 0) {
      node.order.push_back(last);
      node.all.push_back(last);
    }
    if (auto found = times.messages.find({message.id(), move.micro_batch()});
        found != times.messages.end()) {
      node.begin = found->second->begin;
      node.end = found->second->end;
    }
    last = add(std::move(node));
    moving.push_back({{&message, move.micro_batch(), move.slot()}, last});
  }

  void addCall(const plan::Call &call) {
    const plan::Program &program = role.programs(int(call.program()));
    RoleTimes::Call taken;
    if (!times.calls.empty()) {
      taken = std::move(times.calls.front());
      times.calls.pop_front();
    }
    TracedNode host;
    host.name =
        "call " + program.name() + " " + std::to_string(call.micro_batch());
    host.isOfHost = true;
    host.all = reached;
    if (taken.span) {
      host.begin = taken.span->begin;
      host.end = host.begin + callSeconds;
    }
    const uint64_t begun = add(std::move(host));
    std::vector<std::vector<uint64_t>> ids(size_t(program.instructions_size()));
    std::map<uint32_t, std::vector<uint64_t>> streams;
    for (int i = 0; i < program.instructions_size(); ++i) {
      const plan::Instruction &instruction = program.instructions(i);
      TracedNode node;
      node.program = &program;
      node.instruction = &instruction;
      node.name = instruction.label();
      std::vector<uint64_t> &stream = streams[instruction.stream()];
      node.order = stream;
      node.all = stream.empty() ? std::vector<uint64_t>{begun} : stream;
      for (uint32_t other : instruction.waits())
        node.all.insert(node.all.end(), ids[other].begin(), ids[other].end());
      if (auto found = taken.instructions.find(i);
          found != taken.instructions.end()) {
        node.begin = found->second->begin;
        node.end = found->second->end;
      }
      stream = ids[size_t(i)] = addInstruction(program, std::move(node));
    }
    reached = {begun};
    if (!streams.empty())
      reached.clear();
    for (const auto &[stream, last] : streams)
      reached.insert(reached.end(), last.begin(), last.end());
  }

  /// The ids of its node, or of both where it sends to one rank while it
  /// receives from another.
  std::vector<uint64_t> addInstruction(const plan::Program &program,
                                       TracedNode node) {
    const plan::Instruction &instruction = *node.instruction;
    if (instruction.has_collective()) {
      node.type = kCollective;
      if (instruction.collective().kind() != plan::SEND_RECEIVE)
        return {add(std::move(node))};
      // All ranks of the role come to the same ones, in the same order.
      node.tag = ++shifts;
      TracedNode receive = node;
      node.type = kSend;
      receive.type = kReceive;
      const uint64_t sent = add(std::move(node));
      return {sent, add(std::move(receive))};
    }
    if (instruction.has_copy() && streams::isOfCopies(instruction.stream())) {
      const plan::Buffer &to =
          program.buffers(int(instruction.copy().destination()));
      const bool isStored = to.space() == plan::OFFLOADED || to.offloaded();
      node.type = isStored ? kMemoryStore : kMemoryLoad;
    }
    return {add(std::move(node))};
  }

  const plan::Role &role;
  const RoleUse &use;
  RoleTimes &times;
  const uint64_t tagsOfMessage;
  const double callSeconds;

  std::vector<TracedNode> nodes; // ids are places, from 1
  std::vector<Moving> moving;
  std::vector<uint64_t> reached; // what the next action comes behind
  std::map<std::pair<uint32_t, bool>, uint64_t> lines;
  uint64_t shifts = 0;
};

class TraceWriter {
public:
  TraceWriter(const plan::Manifest &manifest, const Mesh &mesh,
              const TimedPrograms &programs)
      : manifest(manifest), mesh(mesh), programs(programs) {
    uint32_t mostMicroBatches = 1, mostMessages = 0;
    for (const plan::Role &role : manifest.roles()) {
      for (const plan::Action &action : role.train().actions())
        if (!action.has_call() && !action.has_feed())
          mostMicroBatches =
              std::max(mostMicroBatches, moveOf(action)->micro_batch() + 1);
      for (const plan::Message &message : role.messages())
        mostMessages = std::max(mostMessages, message.id() + 1);
    }
    tags = mostMicroBatches;
    firstShift = uint64_t(mostMicroBatches) * mostMessages;
  }

  /// How many tags a message has: one a micro-batch.
  uint64_t tagsOfMessage() const { return tags; }

  std::string write(const std::vector<TracedNode> &nodes, int rank) {
    WireMessage file, metadata;
    metadata.addBytes(1, "0.0.4");
    file.addDelimited(metadata.bytes);
    for (size_t i = 0; i < nodes.size(); ++i)
      file.addDelimited(print(nodes[i], i + 1, rank));
    return std::move(file.bytes);
  }

  /// The groups of the collectives that were written: {"1": [0, 1], ...}.
  std::string printGroups() const {
    std::map<int, const std::vector<int> *> byId;
    for (const auto &[members, id] : groups)
      byId[id] = &members;
    std::string text;
    for (const auto &[id, members] : byId) {
      text += (text.empty() ? "{\n" : ",\n") + strCat("  \"", id, "\": [");
      for (size_t i = 0; i < members->size(); ++i)
        text += strCat(i ? ", " : "", (*members)[i]);
      text += "]";
    }
    return text.empty() ? "{}\n" : text + "\n}\n";
  }

private:
  int deviceOf(int rank) const { return programs.deviceOf(mesh, rank); }

  std::string print(const TracedNode &node, uint64_t id, int rank) {
    WireMessage wire;
    wire.addNumber(kId, id);
    wire.addBytes(kName, node.name);
    wire.addNumber(kType, node.type);
    wire.addList(kCtrlDeps, node.order);
    wire.addList(kDataDeps, node.all);
    wire.addNumber(kStart, uint64_t(std::llround(node.begin * 1e6)));
    // Nothing lasts for no time: it would be taken for unknown.
    const double lasts = (node.end - node.begin) * 1e6;
    if (lasts > 0)
      wire.addNumber(kLasts, uint64_t(std::max(1LL, std::llround(lasts))));
    wire.addAttribute("is_cpu_op", kBool, node.isOfHost);
    if (node.instruction && node.instruction->has_collective())
      addCollective(wire, node, rank);
    else if (node.message)
      addMessage(wire, node, rank);
    else
      addWork(wire, node);
    return std::move(wire.bytes);
  }

  void addWork(WireMessage &wire, const TracedNode &node) {
    const double flops = node.instruction ? node.instruction->flops() : 0;
    const double bytes = node.instruction ? node.instruction->bytes() : 0;
    wire.addAttribute("num_ops", kInt64, uint64_t(flops));
    wire.addAttribute("tensor_size", kUint64, uint64_t(bytes));
  }

  void addEnds(WireMessage &wire, const TracedNode &node, int rank, int peer,
               uint64_t bytes, uint64_t tag) {
    const int own = deviceOf(rank), other = deviceOf(peer);
    const bool sends = node.type == kSend;
    wire.addAttribute("comm_size", kInt64, bytes);
    wire.addAttribute("comm_src", kInt32, uint64_t(sends ? own : other));
    wire.addAttribute("comm_dst", kInt32, uint64_t(sends ? other : own));
    wire.addAttribute("comm_tag", kInt32, tag);
  }

  void addMessage(WireMessage &wire, const TracedNode &node, int rank) {
    // The rank of the other role with the same other coordinates.
    const int peer = rank - mesh.firstOf(mesh.role(rank)) +
                     mesh.firstOf(int(node.message->peer()));
    addEnds(wire, node, rank, peer, *byteCount(node.message->type()), node.tag);
    wire.addText("axes", axes::kRole);
  }

  void addCollective(WireMessage &wire, const TracedNode &node, int rank) {
    const plan::CollectiveCall &call = node.instruction->collective();
    const uint64_t bytes =
        *byteCount(node.program->buffers(int(call.source())).type());
    std::string axes;
    for (const std::string &axis : call.axes())
      axes += (axes.empty() ? "" : "+") + axis;
    wire.addText("axes", axes);
    const std::vector<int> ranks = ranksOf(mesh, rank, call);
    if (node.type != kCollective) {
      const int64_t size = int64_t(ranks.size());
      const int64_t place =
          std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
      const int64_t shift = node.type == kSend ? call.shift() : -call.shift();
      const int64_t peer = ((place + shift) % size + size) % size;
      addEnds(wire, node, rank, ranks[size_t(peer)], bytes,
              firstShift + node.tag);
    } else {
      wire.addAttribute("comm_type", kInt64, uint64_t(chakraKind(call.kind())));
      wire.addAttribute("comm_size", kInt64, bytes);
      wire.addText("pg_name", std::to_string(groupOf(ranks)));
    }
    // For readers that count: bytes that the busiest rank of the group sends.
    if (node.type != kReceive)
      wire.addAttribute("sent_bytes", kInt64, call.sent_bytes());
  }

  int groupOf(const std::vector<int> &ranks) {
    std::vector<int> members;
    for (int rank : ranks)
      members.push_back(deviceOf(rank));
    // Group 0 is all of the network to ASTRA-sim.
    return groups.try_emplace(members, int(groups.size()) + 1).first->second;
  }

  const plan::Manifest &manifest;
  const Mesh &mesh;
  const TimedPrograms &programs;
  uint64_t tags = 1, firstShift = 0;
  std::map<std::vector<int>, int> groups;
};

/// Writes settings as in ASTRA-sim's own examples.
Status addSettings(const Cluster &cluster, int64_t ranks,
                   const FileSink &sink) {
  const std::string network = networkOf(cluster, ranks);
  ZC_RETURN_IF_ERROR(sink("network.yml", network));
  const size_t begin = network.find("topology: ["), end = network.find(']');
  const auto dims = 1 + std::count(network.begin() + long(begin),
                                   network.begin() + long(end), ',');
  std::string each = "[\"ring\"";
  for (auto i = dims; i > 1; --i)
    each += ", \"ring\"";
  each += "]";
  std::string system = "{\n  \"scheduling-policy\": \"LIFO\",\n"
                       "  \"endpoint-delay\": 0,\n"
                       "  \"active-chunks-per-dimension\": 1,\n"
                       "  \"preferred-dataset-splits\": 1,\n";
  for (const char *kind :
       {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"})
    system += strCat("  \"", kind, "-implementation\": ", each, ",\n");
  system += strCat("  \"collective-optimization\": \"localBWAware\",\n"
                   "  \"local-mem-bw\": ",
                   cluster.device.bytesPerSecond / 1e9,
                   ",\n  \"boost-mode\": 0\n}\n");
  ZC_RETURN_IF_ERROR(sink("system.json", system));
  const double host = cluster.device.hostBytesPerSecond;
  return sink("memory.json",
              host > 0 ? strCat("{\"memory-type\": "
                                "\"PER_NPU_MEMORY_EXPANSION\", "
                                "\"remote-mem-latency\": 0, "
                                "\"remote-mem-bw\": ",
                                host / 1e9, "}\n")
                       : "{\"memory-type\": \"NO_MEMORY_EXPANSION\"}\n");
}

} // namespace

std::string networkOf(const Cluster &cluster, int64_t ranks) {
  std::string topology, counts, bandwidths, latencies;
  auto add = [&](const LinkLevel &level, int64_t count) {
    const char *comma = topology.empty() ? "" : ", ";
    // ASTRA-sim's GB are 2^30 bytes. No limit: more than any link has.
    const double gigabytes =
        level.bytesPerSecond > 0 ? level.bytesPerSecond / (1 << 30) : 1e6;
    topology += strCat(comma, "Switch");
    counts += strCat(comma, count);
    bandwidths += strCat(comma, gigabytes);
    latencies += strCat(comma, level.latencySeconds * 1e9);
  };
  // Levels whose blocks the ranks do not fill evenly are left out.
  int64_t below = 1;
  for (const LinkLevel &level : cluster.levels) {
    if (ranks <= level.size) {
      add(level, ranks / below);
      break;
    }
    if (ranks % level.size != 0 || level.size == below)
      continue;
    add(level, level.size / below);
    below = level.size;
  }
  return strCat("topology: [ ", topology, " ]\nnpus_count: [ ", counts,
                " ]\nbandwidth: [ ", bandwidths,
                " ]  # GB/s of 2^30 bytes\nlatency: [ ", latencies,
                " ]  # ns\n");
}

Status planAsChakra(const plan::Manifest &given, const Cluster &whole,
                    const PlanReport &report,
                    const std::vector<std::string> &placement,
                    const FileSink &sink) {
  // If steps overlap, take the run of steps that was simulated.
  const plan::Manifest &manifest =
      report.simulated.run ? *report.simulated.run : given;
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  const Cluster cluster = whole.sharedBy(mesh.ranks());
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  ZC_ASSIGN_OR_RETURN(const TimedPrograms programs,
                      TimedPrograms::of(manifest, cluster, placement));
  TraceWriter writer(manifest, mesh, programs);
  std::vector<RoleTimes> times = timesOf(report);
  for (int role = 0; role < manifest.roles_size(); ++role) {
    const std::vector<TracedNode> nodes =
        RoleTracer(manifest.roles(role), uses[size_t(role)],
                   times[size_t(role)], writer.tagsOfMessage(),
                   cluster.device.callSeconds)
            .trace();
    for (int rank = 0; rank < int(mesh.ranks()); ++rank)
      if (mesh.role(rank) == role &&
          (mesh.ranks() <= kMostTraces || rank == mesh.firstOf(role)))
        ZC_RETURN_IF_ERROR(
            sink(strCat("zc.", programs.deviceOf(mesh, rank), ".et"),
                 writer.write(nodes, rank)));
  }
  ZC_RETURN_IF_ERROR(sink("comm_groups.json", writer.printGroups()));
  return addSettings(cluster, mesh.ranks(), sink);
}

} // namespace zc
