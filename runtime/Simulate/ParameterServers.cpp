#include "runtime/Simulate/ParameterServers.h"
#include "runtime/Simulate/CollectiveTimes.h"
#include "runtime/Simulate/SharedLinks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

namespace zc {
namespace {

/// Steps of the slowest worker; the second half counts.
constexpr size_t kSteps = 20;

class Servers {
public:
  Servers(const Cluster &cluster, const ServedTraining &training)
      : cluster(cluster), training(training),
        workers(size_t(training.workers)) {
    for (int64_t device = 0; device < training.workers + training.servers;
         ++device)
      for (const LinkLevel &level : cluster.levels)
        for (int direction = 0; direction < 2; ++direction)
          links.addLink(level.bytesPerSecond);
  }

  ServedTimes run() {
    for (size_t i = 0; i < workers.size(); ++i)
      pull(i);
    while (!isOver() && step())
      ;
    return measure();
  }

private:
  enum class Kind { Opened, Computed, Updated };
  struct Event {
    double time;
    uint64_t number;
    Kind kind;
    size_t worker;
    bool operator>(const Event &other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Worker {
    bool isPulling = true;
    uint64_t pulled = 0; // the version
    std::vector<double> updates, staleness;
  };

  void push(double at, Kind kind, size_t worker) {
    events.push({at, numbers++, kind, worker});
  }

  size_t linkOf(int64_t device, size_t level, bool isIn) const {
    return (size_t(device) * cluster.levels.size() + level) * 2 + isIn;
  }

  double latencyOf(size_t worker) const {
    double worst = 0;
    for (int64_t server = 0; server < training.servers; ++server)
      worst = std::max(worst, messageCost(cluster, int(worker),
                                          int(training.workers + server), 0)
                                  .latencySeconds);
    return worst;
  }

  void transfer(size_t worker, bool isPull) {
    workers[worker].isPulling = isPull;
    push(time + latencyOf(worker), Kind::Opened, worker);
  }

  void pull(size_t worker) {
    workers[worker].pulled = version;
    transfer(worker, true);
  }

  /// To or from all servers at once.
  void open(size_t worker) {
    const bool isPull = workers[worker].isPulling;
    const double share =
        (isPull ? training.parameterBytes : training.gradientBytes) /
        double(training.servers);
    std::map<size_t, double> bytes;
    for (int64_t i = 0; i < training.servers; ++i) {
      const int64_t server = training.workers + i;
      const TransferCost cost =
          messageCost(cluster, int(worker), int(server), share);
      for (size_t level = 0; level < cost.bytes.size(); ++level)
        if (cost.bytes[level] > 0) {
          const double taken = cost.takenBytes(level);
          bytes[linkOf(int64_t(worker), level, isPull)] += taken;
          bytes[linkOf(server, level, !isPull)] += taken;
        }
    }
    std::vector<SharedLinks::Use> uses;
    for (auto [link, amount] : bytes)
      uses.push_back({link, amount});
    const SharedLinks::Id id = links.begin(time, std::move(uses));
    if (flowing.size() <= id)
      flowing.resize(id + 1);
    flowing[id] = worker;
  }

  void close(SharedLinks::Id id) {
    links.end(time, id);
    const size_t worker = flowing[id];
    if (workers[worker].isPulling) {
      const double factor =
          training.slowdown.empty() ? 1 : training.slowdown[worker];
      return push(time + factor * training.computeSeconds, Kind::Computed,
                  worker);
    }
    waiting.push_back(worker);
    beginUpdate();
  }

  /// Servers hold equal shares, so that all of them are as busy.
  void beginUpdate() {
    const bool isReady = training.isAsynchronous
                             ? !waiting.empty()
                             : waiting.size() == workers.size();
    if (isUpdating || !isReady)
      return;
    isUpdating = true;
    push(time + training.updateSeconds / double(training.servers),
         Kind::Updated, waiting.front());
  }

  void note(size_t worker) {
    Worker &each = workers[worker];
    each.updates.push_back(time);
    each.staleness.push_back(double(version - each.pulled));
  }

  void endUpdate() {
    isUpdating = false;
    if (training.isAsynchronous) {
      const size_t worker = waiting.front();
      waiting.pop_front();
      note(worker);
      ++version;
      pull(worker);
      return beginUpdate();
    }
    const std::deque<size_t> all = std::exchange(waiting, {});
    for (size_t worker : all)
      note(worker);
    ++version;
    for (size_t worker = 0; worker < workers.size(); ++worker)
      pull(worker);
  }

  bool isOver() const {
    return std::all_of(workers.begin(), workers.end(), [](const Worker &each) {
      return each.updates.size() >= kSteps;
    });
  }

  bool step() {
    SharedLinks::Id flow = 0;
    double ends = 0;
    const bool flows = links.next(flow, ends);
    if (events.empty() && !flows)
      return false;
    if (flows && (events.empty() || ends <= events.top().time)) {
      time = std::max(time, ends);
      close(flow);
      return true;
    }
    const Event event = events.top();
    events.pop();
    time = event.time;
    if (event.kind == Kind::Opened)
      open(event.worker);
    else if (event.kind == Kind::Computed)
      transfer(event.worker, false);
    else
      endUpdate();
    return true;
  }

  /// Measures the second half of each worker's updates, the steady state.
  ServedTimes measure() const {
    ServedTimes times;
    double staleness = 0, count = 0;
    for (const Worker &each : workers) {
      const size_t last = each.updates.size() - 1, first = last / 2;
      times.updatesPerSecond +=
          double(last - first) / (each.updates[last] - each.updates[first]);
      for (size_t i = first; i <= last; ++i) {
        staleness += each.staleness[i];
        times.mostStaleness = std::max(times.mostStaleness, each.staleness[i]);
        count += 1;
      }
    }
    times.meanStaleness = staleness / count;
    const double size = double(workers.size());
    times.stepSeconds = size / times.updatesPerSecond;
    times.workerBytes = training.parameterBytes + training.gradientBytes;
    times.serverBytes = times.workerBytes * size / double(training.servers);
    return times;
  }

  const Cluster &cluster;
  const ServedTraining &training;
  std::vector<Worker> workers;
  SharedLinks links;
  std::vector<size_t> flowing; // workers, by ids of `links`
  std::deque<size_t> waiting;  // for an update with their gradients
  bool isUpdating = false;
  uint64_t version = 0, numbers = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  double time = 0;
};

} // namespace

Result<ServedTimes> simulateServers(const Cluster &cluster,
                                    const ServedTraining &training) {
  if (Status status = cluster.checkRoom(training.workers + training.servers);
      !status.ok())
    return makeError(status.code(), status.message(), ": ", training.workers,
                     " workers and ", training.servers, " servers");
  // Workers that take no time would go round for ever.
  if (!(training.computeSeconds > 0))
    return makeError(StatusCode::InvalidArgument,
                     "workers that compute nothing need no servers");
  return Servers(cluster, training).run();
}

} // namespace zc
