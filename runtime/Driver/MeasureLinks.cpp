#include "runtime/Driver/MeasureLinks.h"
#include "runtime/Plan/Collective/TimedKinds.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

namespace zc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeastRepeats = 5, kMostRepeats = 200;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// All ranks repeat it as often as the first one says.
Result<double> medianOf(World &world, double seconds,
                        const std::function<Status()> &once) {
  ZC_RETURN_IF_ERROR(once());
  ZC_RETURN_IF_ERROR(world.all().barrier());
  Clock::time_point begin = Clock::now();
  ZC_RETURN_IF_ERROR(once());
  int64_t repeats = int64_t(seconds / std::max(1e-7, secondsSince(begin)));
  repeats = std::clamp<int64_t>(repeats, kLeastRepeats, kMostRepeats);
  ZC_RETURN_IF_ERROR(world.all().broadcast(&repeats, sizeof(repeats), 0));
  std::vector<double> times;
  for (int64_t i = 0; i < repeats; ++i) {
    ZC_RETURN_IF_ERROR(world.all().barrier());
    begin = Clock::now();
    ZC_RETURN_IF_ERROR(once());
    times.push_back(secondsSince(begin));
  }
  std::nth_element(times.begin(), times.begin() + ptrdiff_t(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

Result<double> timeCollective(World &world, Communicator &group,
                              plan::CollectiveKind kind, uint64_t bytes,
                              double seconds, std::vector<float> &memory) {
  const auto elements = int64_t(bytes / sizeof(float));
  CollectiveLaunch launch;
  launch.shape = {kind, plan::AUTO, group.size(), elements, sizeof(float)};
  launch.source = memory.data();
  // Gathers and scatters have a destination of their own.
  launch.destination =
      kind == plan::ALL_REDUCE ? memory.data() : memory.data() + elements;
  ZC_ASSIGN_OR_RETURN(auto collective, group.prepare(launch));
  return medianOf(world, seconds, [&] { return collective->run(); });
}

Result<double> timeMessage(World &world, uint64_t bytes, double seconds,
                           std::vector<float> &memory) {
  auto pass = [&](bool sends, int peer) -> Status {
    // Each direction is a line of its own.
    const uint32_t line = sends == (world.rank() == 0) ? 0 : 1;
    ZC_ASSIGN_OR_RETURN(PostedMessage posted,
                        world.post({sends, peer, memory.data(), bytes},
                                   kFirstLineChannel + line));
    return world.await(posted);
  };
  ZC_ASSIGN_OR_RETURN(double both, medianOf(world, seconds, [&]() -> Status {
                        if (world.rank() > 1)
                          return Status();
                        const int peer = 1 - world.rank();
                        ZC_RETURN_IF_ERROR(pass(world.rank() == 0, peer));
                        return pass(world.rank() != 0, peer);
                      }));
  return both / 2;
}

} // namespace

Result<std::vector<LinkTime>> measureLinks(World &world, uint64_t most,
                                           double seconds) {
  std::vector<int> members;
  for (int rank = 0; rank < world.size(); ++rank)
    members.push_back(rank);
  std::unique_ptr<Communicator> group = world.group(members, 1);
  std::vector<float> memory(2 * most / sizeof(float));
  std::vector<LinkTime> times;
  for (uint64_t size = 1024; size <= most; size *= 4) {
    // A multiple of what each rank has.
    const uint64_t part = sizeof(float) * uint64_t(world.size());
    const uint64_t bytes = size / part * part;
    for (auto [name, kind] : kTimedCollectives) {
      ZC_ASSIGN_OR_RETURN(
          double median,
          kind == plan::SEND_RECEIVE
              ? timeMessage(world, bytes, seconds, memory)
              : timeCollective(world, *group, kind, bytes, seconds, memory));
      times.push_back({name, bytes, median});
    }
  }
  return times;
}

std::string linksToJson(int ranks, const std::vector<LinkTime> &times) {
  nlohmann::json links = nlohmann::json::array();
  for (const LinkTime &time : times)
    links.push_back({{"kind", time.kind},
                     {"bytes", time.bytes},
                     {"seconds", time.seconds}});
  return nlohmann::json{{"ranks", ranks}, {"links", links}}.dump() + "\n";
}

} // namespace zc
