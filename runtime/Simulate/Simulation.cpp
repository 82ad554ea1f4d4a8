#include "runtime/Simulate/Simulation.h"
#include "runtime/Plan/Order/RunOfSteps.h"
#include "runtime/Plan/Types.h"
#include "runtime/Simulate/OrderWalk.h"
#include "runtime/Simulate/RoleLinks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

namespace zc {
namespace {

/// Events in the order of their times, and of equal times in the order in which
/// they were made, so that simulations repeat.
class Simulation : public SimulatedWorld {
public:
  Simulation(const plan::Manifest &manifest, const Cluster &cluster,
             const Mesh &mesh, const TimedPrograms &programs,
             const std::vector<RoleUse> &uses, Phase phase,
             std::vector<SimulatedSpan> *spans)
      : manifest(manifest), cluster(cluster), programs(programs), spans(spans),
        meetings(programs.numMeetings()), roleLinks(cluster, mesh, programs),
        links(roleLinks.links()) {
    const size_t roles = size_t(manifest.roles_size());
    computing.resize(roles);
    sending.resize(roles);
    slowdown.resize(roles, 1);
    for (uint32_t i = 0; i < roles; ++i) {
      const plan::Role &role = manifest.roles(int(i));
      walks.push_back(
          std::make_unique<OrderWalk>(i, role, uses[i], orderOf(role, phase),
                                      programs, cluster.device, *this, spans));
      walks.back()->times().sentBytes.resize(cluster.levels.size());
    }
  }

  /// All that the role does itself takes so many times as long.
  void slowDown(int role, double factor) {
    slowdown[size_t(role)] = std::max(slowdown[size_t(role)], factor);
  }

  Status run() {
    for (auto &walk : walks)
      walk->proceed();
    while (step())
      ;
    for (size_t i = 0; i < walks.size(); ++i)
      if (!walks[i]->isDone())
        return makeError(StatusCode::Internal,
                         "the simulation stands still: role ", i,
                         " waits at action ", walks[i]->position());
    return Status();
  }

  double now() const override { return time; }
  double end() const { return time; }
  SimulatedRole times(uint32_t role) const {
    SimulatedRole times = walks[role]->times();
    for (size_t level = 0; level < cluster.levels.size(); ++level)
      times.busyBytes.push_back(roleLinks.busyBytes(role, level));
    return times;
  }

  void computeFor(uint32_t role, uint32_t stream, double seconds) override {
    if (stream != 0)
      return push(time + seconds, {Event::Computed, role, stream, 0});
    Computing &each = computing[role];
    each.left = seconds * slowdown[role];
    each.since = time;
    each.speed = speedOf(role);
    each.isBusy = true;
    pushComputed(role);
  }

  void collect(uint32_t role, uint32_t stream,
               const TimedInstruction &instruction) override {
    uint32_t index;
    if (instruction.meeting < 0) {
      index = addTransfer(instruction.cost);
    } else {
      Meeting &meeting = meetings[size_t(instruction.meeting)];
      if (meeting.transfer < 0)
        meeting.transfer = int(addTransfer(instruction.cost));
      index = uint32_t(meeting.transfer);
    }
    Transfer &transfer = transfers[index];
    transfer.takers.push_back({role, stream});
    const size_t expected = instruction.meeting < 0
                                ? 1
                                : programs.meeting(instruction.meeting).size();
    if (transfer.takers.size() < expected)
      return;
    if (instruction.meeting >= 0)
      meetings[size_t(instruction.meeting)].transfer = -1;
    start(index);
  }

  uint32_t post(uint32_t role, const plan::Message &message,
                uint32_t microBatch) override {
    const uint64_t key = uint64_t(message.id()) << 32 | microBatch;
    auto [known, isFirst] = posted.emplace(key, 0);
    if (isFirst) {
      known->second = addTransfer({});
      transfers[known->second].isMessage = true;
    }
    const uint32_t index = known->second;
    Transfer &transfer = transfers[index];
    (message.sends() ? transfer.sender : transfer.receiver) = {role, 0};
    transfer.message = &message;
    transfer.microBatch = microBatch;
    transfer.ends += 1;
    if (message.sends()) {
      transfer.line = uint64_t(role) << 32 | message.line();
      lines[transfer.line].push_back(index);
      transfer.cost = messageCost(cluster, programs.firstDevice(role),
                                  programs.firstDevice(message.peer()),
                                  double(*byteCount(message.type())));
      transfer.cost.latencySeconds += cluster.device.launchSeconds;
    }
    if (transfer.ends == 2) {
      posted.erase(key);
      startFront(transfer.line);
    }
    return index;
  }

  bool hasEnded(uint32_t transfer) const override {
    return transfers[transfer].isOver;
  }

private:
  struct Event {
    enum Kind { Computed, Opened } kind;
    uint32_t index; // a role, or a transfer
    uint32_t stream;
    uint32_t version;
  };
  struct Timed {
    double time;
    uint64_t number;
    Event event;
    bool operator>(const Timed &other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct End {
    uint32_t role = 0, stream = 0;
  };
  struct Transfer {
    TransferCost cost;
    std::vector<End> takers; // of a collective
    bool isMessage = false, isBegun = false, isOver = false;
    const plan::Message *message = nullptr;
    uint32_t microBatch = 0;
    uint64_t line = 0;
    int ends = 0;
    End sender, receiver;
    double began = 0;
  };
  struct Computing {
    bool isBusy = false;
    double left = 0, since = 0, speed = 1;
    uint32_t version = 0;
  };
  struct Meeting {
    int transfer = -1;
  };

  void push(double at, Event event) { queue.push({at, events++, event}); }

  double speedOf(uint32_t role) const {
    return sending[role] > 0 ? cluster.computeWhileSending : 1;
  }
  void pushComputed(uint32_t role) {
    Computing &each = computing[role];
    push(time + each.left / each.speed,
         {Event::Computed, role, 0, ++each.version});
  }
  /// The role has begun, or ended, to send beside its computation.
  void changeSpeed(uint32_t role, int more) {
    sending[role] += more;
    Computing &each = computing[role];
    const double speed = speedOf(role);
    if (!each.isBusy || speed == each.speed)
      return;
    each.left = std::max(0.0, each.left - (time - each.since) * each.speed);
    each.since = time;
    each.speed = speed;
    pushComputed(role);
  }

  uint32_t addTransfer(const TransferCost &cost) {
    transfers.emplace_back();
    transfers.back().cost = cost;
    return uint32_t(transfers.size() - 1);
  }

  void startFront(uint64_t line) {
    std::deque<uint32_t> &waiting = lines[line];
    if (waiting.empty())
      return;
    Transfer &front = transfers[waiting.front()];
    if (front.ends == 2 && !front.isBegun)
      start(waiting.front());
  }

  void start(uint32_t index) {
    Transfer &transfer = transfers[index];
    transfer.isBegun = true;
    transfer.began = time;
    push(time + transfer.cost.latencySeconds, {Event::Opened, index, 0, 0});
  }

  std::vector<uint32_t> rolesOf(const Transfer &transfer) const {
    if (transfer.isMessage)
      return {transfer.sender.role, transfer.receiver.role};
    std::vector<uint32_t> roles;
    for (End end : transfer.takers)
      roles.push_back(end.role);
    return roles;
  }

  /// Bytes begin to flow.
  void open(uint32_t index) {
    Transfer &transfer = transfers[index];
    std::vector<SharedLinks::Use> uses;
    for (size_t level = 0; level < transfer.cost.bytes.size(); ++level) {
      const double bytes = transfer.cost.bytes[level];
      if (bytes == 0)
        continue;
      const std::vector<uint32_t> roles = rolesOf(transfer);
      for (uint32_t role : roles)
        for (bool isIn : {false, true})
          if (!transfer.isMessage || isIn == (role != transfer.sender.role)) {
            roleLinks.take(role, level, isIn, transfer.cost.takenBytes(level),
                           uses);
            if (!isIn)
              walks[role]->times().sentBytes[level] += bytes;
          }
    }
    for (uint32_t role : rolesOf(transfer))
      changeSpeed(role, 1);
    const SharedLinks::Id id = links.begin(time, std::move(uses));
    if (flowing.size() <= id)
      flowing.resize(id + 1);
    flowing[id] = index;
  }

  void close(SharedLinks::Id id) {
    links.end(time, id);
    Transfer &transfer = transfers[flowing[id]];
    const std::vector<uint32_t> roles = rolesOf(transfer);
    for (uint32_t role : roles)
      changeSpeed(role, -1);
    transfer.isOver = true;
    if (!transfer.isMessage) {
      const std::vector<End> takers = transfer.takers;
      const double met = takers.size() > 1 ? transfer.began : -1;
      for (End end : takers)
        walks[end.role]->finished(end.stream, met);
      return;
    }
    addSpans(transfer);
    lines[transfer.line].pop_front();
    startFront(transfer.line);
    for (uint32_t role : roles)
      walks[role]->proceed();
  }

  void addSpans(const Transfer &transfer) {
    if (!spans)
      return;
    SimulatedSpan span;
    span.message = transfer.message;
    span.microBatch = transfer.microBatch;
    span.begin = transfer.began;
    span.end = time;
    span.kind = SimulatedSpan::Kind::Send;
    span.role = transfer.sender.role;
    spans->push_back(span);
    span.kind = SimulatedSpan::Kind::Receive;
    span.role = transfer.receiver.role;
    spans->push_back(span);
  }

  bool isStale(const Event &event) const {
    return event.kind == Event::Computed && event.stream == 0 &&
           event.version != computing[event.index].version;
  }

  /// The next event; false: there is none.
  bool step() {
    while (!queue.empty() && isStale(queue.top().event))
      queue.pop();
    SharedLinks::Id flow = 0;
    double ends = 0;
    const bool flows = links.next(flow, ends);
    if (queue.empty() && !flows)
      return false;
    if (flows && (queue.empty() || ends <= queue.top().time)) {
      time = std::max(time, ends);
      close(flow);
      return true;
    }
    const Timed timed = queue.top();
    queue.pop();
    time = timed.time;
    if (timed.event.kind == Event::Opened) {
      open(timed.event.index);
      return true;
    }
    if (timed.event.stream == 0)
      computing[timed.event.index].isBusy = false;
    walks[timed.event.index]->finished(timed.event.stream);
    return true;
  }

  const plan::Manifest &manifest;
  const Cluster &cluster;
  const TimedPrograms &programs;
  std::vector<SimulatedSpan> *spans;
  std::vector<std::unique_ptr<OrderWalk>> walks;
  std::vector<Computing> computing;
  std::vector<int> sending;     // transfers of a role whose bytes flow
  std::vector<double> slowdown; // of roles
  std::vector<Meeting> meetings;
  std::deque<Transfer> transfers;
  std::map<uint64_t, uint32_t> posted; // with one end
  std::map<uint64_t, std::deque<uint32_t>> lines;
  RoleLinks roleLinks;
  SharedLinks &links;
  std::vector<uint32_t> flowing; // transfers, by ids of `links`
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> queue;
  uint64_t events = 0;
  double time = 0;
};

} // namespace

double SimulatedOrders::bubbleOfTotal() const {
  double called = 0;
  for (const SimulatedRole &role : roles)
    called += role.called;
  return seconds > 0 ? 1 - called / (seconds * double(roles.size())) : 0;
}

double SimulatedOrders::bubbleOfIdeal() const {
  const double total = bubbleOfTotal();
  return total < 1 ? total / (1 - total) : 0;
}

Result<SimulatedOrders> simulateOrders(const plan::Manifest &manifest,
                                       const Cluster &given, Phase phase,
                                       const SimulationOptions &options) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  const Cluster cluster = given.sharedBy(mesh.ranks());
  ZC_ASSIGN_OR_RETURN(const std::vector<RoleUse> uses, useOfRoles(manifest));
  ZC_ASSIGN_OR_RETURN(const TimedPrograms programs,
                      TimedPrograms::of(manifest, cluster, options.placement));
  SimulatedOrders simulated;
  Simulation simulation(manifest, cluster, mesh, programs, uses, phase,
                        options.keepsSpans ? &simulated.spans : nullptr);
  for (auto [rank, factor] : options.stragglers) {
    if (rank < 0 || rank >= mesh.ranks())
      return makeError(StatusCode::InvalidArgument, "straggler ", rank,
                       ": the mesh has ", mesh.ranks(), " ranks, from 0 on");
    simulation.slowDown(mesh.role(rank), factor);
  }
  ZC_RETURN_IF_ERROR(simulation.run());
  simulated.seconds = simulation.end();
  for (int i = 0; i < manifest.roles_size(); ++i)
    simulated.roles.push_back(simulation.times(uint32_t(i)));
  return simulated;
}

Result<SimulatedStep> simulateStep(const plan::Manifest &manifest,
                                   const Cluster &given,
                                   const SimulationOptions &options) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  const Cluster cluster = given.sharedBy(mesh.ranks());
  SimulatedStep step;
  if (!overlapsSteps(manifest)) {
    ZC_ASSIGN_OR_RETURN(
        step.orders, simulateOrders(manifest, cluster, Phase::Train, options));
    step.seconds = step.orders.seconds + cluster.device.stepSeconds;
    step.bubbleOfTotal = step.orders.bubbleOfTotal();
    step.bubbleOfIdeal = step.orders.bubbleOfIdeal();
    return step;
  }
  // A run of steps has a beginning and an end, where roles wait: one step more
  // of it costs what a step in its midst does.
  const uint32_t steps = stepsAhead(manifest) + 2;
  ZC_ASSIGN_OR_RETURN(const plan::Manifest fewer, unroll(manifest, steps));
  ZC_ASSIGN_OR_RETURN(plan::Manifest more, unroll(manifest, steps + 1));
  step.run = std::make_shared<const plan::Manifest>(std::move(more));
  ZC_ASSIGN_OR_RETURN(SimulatedOrders before,
                      simulateOrders(fewer, cluster, Phase::Train,
                                     SimulationOptions{false, options.placement,
                                                       options.stragglers}));
  ZC_ASSIGN_OR_RETURN(
      step.orders, simulateOrders(*step.run, cluster, Phase::Train, options));
  const double seconds = step.orders.seconds - before.seconds;
  double called = 0;
  for (size_t i = 0; i < before.roles.size(); ++i) {
    SimulatedRole &role = step.orders.roles[i];
    const SimulatedRole &less = before.roles[i];
    called += role.called - less.called;
    role.compute -= less.compute;
    for (auto &[kind, time] : role.computeByKind)
      if (auto known = less.computeByKind.find(kind);
          known != less.computeByKind.end())
        time -= known->second;
    role.called -= less.called;
    role.waiting = seconds - role.called;
    role.flops -= less.flops;
    for (auto &[name, exposed] : role.exposed) {
      auto known = less.exposed.find(name);
      exposed -= known == less.exposed.end() ? 0 : known->second;
    }
    for (size_t level = 0; level < role.sentBytes.size(); ++level) {
      role.sentBytes[level] -= less.sentBytes[level];
      role.busyBytes[level] -= less.busyBytes[level];
    }
  }
  step.seconds = seconds + cluster.device.stepSeconds;
  step.bubbleOfTotal =
      seconds > 0 ? 1 - called / (seconds * double(before.roles.size())) : 0;
  step.bubbleOfIdeal = step.bubbleOfTotal / (1 - step.bubbleOfTotal);
  return step;
}

} // namespace zc
