// Every communicator of our own schedules does what CollectiveChecks.h asks:
// over threads of one process, TCP and MPI, among several numbers of ranks.
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Comm/World.h"
#include "test/unit/runtime/Comm/CollectiveChecks.h"
#include "test/unit/runtime/Comm/MpiRun.h"
#include "test/unit/runtime/FreePort.h"

#include <gtest/gtest.h>
#include <thread>

namespace zc {
namespace {

using namespace zc::test;

using Body = Status (*)(GroupRank &);

std::vector<Status> onThreads(int size,
                              const std::function<Status(int)> &body) {
  std::vector<Status> statuses(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { statuses[size_t(rank)] = body(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

std::vector<Status> inProcess(int size, Body body) {
  auto worlds = createInProcessRanks(size);
  return onThreads(size, [&](int rank) {
    GroupRank each{worlds[size_t(rank)]->all()};
    return body(each);
  });
}

std::vector<Status> byTcp(int size, Body body) {
  const int port = freePort();
  const auto timeout = std::chrono::milliseconds(20000);
  return onThreads(size, [&](int rank) -> Status {
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport,
                        connectByTcp({rank, size, "localhost", port}, timeout));
    World world(std::move(transport));
    world.setTimeout(timeout);
    GroupRank each{world.all()};
    ZC_RETURN_IF_ERROR(body(each));
    return world.all().barrier();
  });
}

struct Way {
  const char *name;
  std::vector<Status> (*run)(int size, Body body);
};

// A new transport is one line here.
constexpr Way kWays[] = {{"InProcess", inProcess}, {"Tcp", byTcp}};

class Communicators
    : public ::testing::TestWithParam<std::tuple<Way, int, CollectiveCheck>> {};
INSTANTIATE_TEST_SUITE_P(
    Conform, Communicators,
    ::testing::Combine(::testing::ValuesIn(kWays),
                       ::testing::Values(1, 2, 3, 5, 8),
                       ::testing::ValuesIn(kCollectiveChecks)),
    [](const auto &info) {
      return std::get<0>(info.param).name +
             std::to_string(std::get<1>(info.param)) +
             std::get<2>(info.param).name;
    });

TEST_P(Communicators, Conform) {
  const auto &[way, size, check] = GetParam();
  for (const Status &status : way.run(size, check.run))
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(CommunicatorsOfSchedules, CountWhatTheySend) {
  for (const Way &way : kWays)
    for (int size : {1, 2, 3, 8})
      for (const Status &status : way.run(size, countsSentBytes))
        EXPECT_TRUE(status.ok())
            << way.name << " " << size << ": " << status.message();
}

#ifdef ZC_TEST_MESSAGES
TEST(CommunicatorsByMpi, Conform) {
  for (int size : {2, 3}) {
    const std::string text = runByMpi(size, "collectives");
    for (int rank = 0; rank < size; ++rank)
      EXPECT_NE(text.find("rank " + std::to_string(rank) + ": well"),
                std::string::npos)
          << text;
  }
}
#endif

} // namespace
} // namespace zc
