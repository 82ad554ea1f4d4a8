#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Token.h"
#include "runtime/Comm/World.h"
#include "test/unit/runtime/FreePort.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace zc {
namespace {

using std::chrono::milliseconds;

/// Connects `ranks` of a world of `size` from threads of their own, by a port
/// or by a file, and runs `body` on each.
std::vector<Status> onRanks(int size, const std::vector<int> &ranks,
                            const std::function<Status(World &)> &body,
                            milliseconds timeout = milliseconds(20000),
                            const std::string &file = "") {
  const int port = file.empty() ? freePort() : 0;
  std::vector<Status> statuses(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      auto transport =
          connectByTcp({ranks[i], size, "localhost", port, file}, timeout);
      if (!transport.ok()) {
        statuses[i] = transport.status();
        return;
      }
      World world(std::move(*transport));
      world.setTimeout(timeout);
      statuses[i] = body(world);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

void expectSuccess(const std::vector<Status> &statuses) {
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Tcp, CollectivesOfAllSizes) {
  for (int p : {2, 3, 5}) {
    std::vector<int> ranks(p);
    for (int r = 0; r < p; ++r)
      ranks[r] = p - 1 - r; // rank 0 comes last
    expectSuccess(onRanks(p, ranks, [&](World &world) {
      // Larger than what a connection holds on the way.
      for (int64_t count : {1, 7, 3000000}) {
        std::vector<float> data(count, float(world.rank() + 1));
        ZC_RETURN_IF_ERROR(world.all().allReduce(
            data.data(), count, ElementType::F32, Reduction::Sum));
        for (float value : data)
          if (value != float(p * (p + 1) / 2))
            return Status(StatusCode::Internal, "a wrong sum");
      }
      return world.all().barrier();
    }));
  }
}

std::string meetingFile() {
  return ::testing::TempDir() + "zc-meeting-" + std::to_string(::getpid());
}

TEST(Tcp, RanksMeetByAFile) {
  const std::string path = meetingFile();
  // Left by a run that ended long ago, at a port where nobody listens.
  std::ofstream(path) << "zc-ranks localhost " << freePort() << "\n";
  auto barrier = [](World &world) { return world.all().barrier(); };
  expectSuccess(onRanks(3, {2, 1, 0}, barrier, milliseconds(20000), path));
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the file is left behind";
}

TEST(Tcp, AFileThatNobodyWritesIsNamed) {
  const std::string path = meetingFile();
  auto statuses = onRanks(
      2, {1}, [](World &) { return Status(); }, milliseconds(300), path);
  EXPECT_NE(statuses[0].message().find("rank 1 cannot reach rank 0: rank 0 has "
                                       "not written '" +
                                       path + "' (ZC_RENDEZVOUS_FILE)"),
            std::string::npos)
      << statuses[0].message();
  auto refused = onRanks(
      2, {0}, [](World &) { return Status(); }, milliseconds(300),
      "/nonexistent/meeting");
  EXPECT_NE(refused[0].message().find("/nonexistent/meeting"),
            std::string::npos)
      << refused[0].message();
}

// Three who connect and say nothing cost nobody a wait.
TEST(Tcp, SilentConnectionsKeepNobodyWaiting) {
  const int port = freePort();
  const auto begin = tcp::Clock::now();
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  auto join = [&](int rank) {
    threads.emplace_back([&, rank] {
      statuses[size_t(rank)] =
          connectByTcp({rank, 2, "localhost", port}, milliseconds(60000))
              .status();
    });
  };
  join(0);
  std::vector<tcp::Socket> silent;
  for (int i = 0; i < 3; ++i)
    silent.push_back(std::move(
        *tcp::connectTo("localhost", port, begin + milliseconds(20000))));
  join(1);
  for (std::thread &thread : threads)
    thread.join();
  expectSuccess(statuses);
  EXPECT_LT(tcp::Clock::now() - begin, milliseconds(9000));
}

// Neither a link nor a pipe that somebody has planted is followed.
TEST(Tcp, ALinkInASharedFolderIsNotFollowed) {
  const std::string path = meetingFile(), victim = path + ".victim";
  std::ofstream(victim) << "precious";
  ASSERT_EQ(::symlink(victim.c_str(), path.c_str()), 0);
  const std::string draft = path + "." + std::to_string(::getpid());
  ASSERT_EQ(::symlink(victim.c_str(), draft.c_str()), 0);
  auto barrier = [](World &world) { return world.all().barrier(); };
  expectSuccess(onRanks(2, {1, 0}, barrier, milliseconds(20000), path));
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "precious");
  ::unlink(draft.c_str());
  ::unlink(victim.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expectSuccess(onRanks(2, {1, 0}, barrier, milliseconds(20000), path));
}

TEST(Tcp, AMissingRankIsNamedByTheFirst) {
  auto statuses = onRanks(
      4, {0, 1, 3}, [](World &) { return Status(); }, milliseconds(300));
  EXPECT_NE(statuses[0].message().find("rank 2 of 4 did not come"),
            std::string::npos)
      << statuses[0].message();
  for (int i : {1, 2})
    EXPECT_EQ(statuses[i].code(), StatusCode::Cancelled)
        << statuses[i].message();
}

// Ranks speak by turns of time: on a machine that is busy with other things two
// may do so, which is no fault if it is rare.
TEST(Tcp, ARankThatDiesIsNamedOnce) {
  int told = 0;
  for (int attempt = 0; attempt < 3 && told != 1; ++attempt) {
    auto statuses = onRanks(3, {0, 1, 2}, [](World &world) {
      if (world.rank() == 2)
        return Status(); // its connections close
      float data[64] = {};
      return world.all().allReduce(data, 64, ElementType::F32, Reduction::Sum);
    });
    told = 0;
    for (int r : {0, 1}) {
      EXPECT_FALSE(statuses[r].ok());
      told += statuses[r].message().find("rank 2 is gone") != std::string::npos;
    }
    ASSERT_GE(told, 1) << statuses[0].message() << statuses[1].message();
  }
  EXPECT_EQ(told, 1);
}

TEST(Tcp, AFailureIsToldByTheOneThatFails) {
  auto statuses = onRanks(3, {0, 1, 2}, [](World &world) {
    if (world.rank() == 1)
      return world.fail(Status(StatusCode::IoError, "the disk is full"));
    float data[64] = {};
    return world.all().allReduce(data, 64, ElementType::F32, Reduction::Sum);
  });
  EXPECT_EQ(statuses[1].message(), "rank 1: the disk is full");
  for (int r : {0, 2})
    EXPECT_EQ(statuses[r].code(), StatusCode::Cancelled)
        << statuses[r].message();
}

TEST(Tcp, ARankThatHangsIsNamedOnce) {
  std::atomic<bool> over{false};
  auto statuses = onRanks(
      3, {0, 1, 2},
      [&](World &world) {
        if (world.rank() == 1) {
          while (!over)
            std::this_thread::sleep_for(milliseconds(5));
          return Status();
        }
        float data[64] = {};
        Status status =
            world.all().allReduce(data, 64, ElementType::F32, Reduction::Sum);
        over = true;
        return status;
      },
      milliseconds(200));
  int told = 0;
  for (int r : {0, 2})
    told += statuses[r].message().find("for rank 1, which does not answer") !=
            std::string::npos;
  EXPECT_EQ(told, 1) << statuses[0].message() << statuses[2].message();
}

/// A rank that reaches rank 0 as others do, and dies before it reaches anyone
/// else.
void dieAfterHello(int rank, int size, int port) {
  const auto end = tcp::Clock::now() + milliseconds(20000);
  tcp::Hello hello;
  hello.rank = rank;
  hello.size = size;
  hello.port = freePort(); // nobody listens there
  tcp::Socket lines[2];
  for (int line : {0, 1}) {
    hello.line = line;
    lines[line] = std::move(*tcp::connectTo("localhost", port, end));
    ASSERT_TRUE(lines[line].write(&hello, sizeof(hello), end).ok());
    tcp::Answer answer;
    ASSERT_TRUE(lines[line].read(&answer, sizeof(answer), end).ok());
  }
}

// Rank 0 has seen it, the others look for it in vain: a lower one that they
// would call, or a higher one that would call them.
TEST(Tcp, ARankThatDiesWhileTheyMeetIsNamed) {
  for (int dead : {1, 2, 3}) {
    const int port = freePort();
    const auto begin = tcp::Clock::now();
    std::vector<Status> statuses(4);
    std::vector<std::thread> threads;
    threads.emplace_back(dieAfterHello, dead, 4, port);
    for (int rank : {0, 1, 2, 3})
      if (rank != dead)
        threads.emplace_back([&, rank] {
          auto transport =
              connectByTcp({rank, 4, "localhost", port}, milliseconds(20000));
          if (!transport.ok()) {
            statuses[size_t(rank)] = transport.status();
            return;
          }
          World world(std::move(*transport));
          world.setTimeout(milliseconds(20000));
          float data[64] = {};
          statuses[size_t(rank)] =
              world.all().allReduce(data, 64, ElementType::F32, Reduction::Sum);
        });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_LT(tcp::Clock::now() - begin, milliseconds(10000));
    int told = 0;
    for (int rank : {0, 1, 2, 3}) {
      const std::string &said = statuses[size_t(rank)].message();
      told += said.find(strCat("rank ", dead, " is gone")) != std::string::npos;
      EXPECT_EQ(statuses[size_t(rank)].ok(), rank == dead) << said;
    }
    EXPECT_GE(told, 1) << dead;
  }
}

TEST(Tcp, ThatTheFirstRankDiesWhileTheyMeetIsSaid) {
  for (int lines : {1, 2}) { // that it takes before it dies
    tcp::Socket listener = std::move(*tcp::listenOn(0));
    const int port = *tcp::portOf(listener);
    const auto begin = tcp::Clock::now();
    Status status;
    std::thread other([&] {
      status =
          connectByTcp({1, 3, "localhost", port}, milliseconds(20000)).status();
    });
    std::vector<tcp::Socket> taken;
    while (taken.size() < size_t(lines)) {
      tcp::waitForAny({listener.get()}, begin + milliseconds(20000));
      tcp::Socket socket = std::move(*tcp::acceptFrom(listener));
      tcp::Answer answer;
      answer.kind = tcp::Answer::Taken;
      tcp::Hello hello;
      const auto until = begin + milliseconds(20000);
      ASSERT_TRUE(socket.read(&hello, sizeof(hello), until).ok());
      ASSERT_TRUE(socket.write(&answer, sizeof(answer), until).ok());
      taken.push_back(std::move(socket));
    }
    listener = tcp::Socket();
    taken.clear();
    other.join();
    EXPECT_EQ(status.message(),
              "rank 1: rank 0 is gone: its connection has closed");
    EXPECT_LT(tcp::Clock::now() - begin, milliseconds(10000));
  }
}

TEST(Tcp, ARankOfAnotherWorldSizeIsRefused) {
  const int port = freePort();
  auto join = [&](TcpPlace place, Status &status) {
    place.host = "localhost";
    place.port = port;
    return std::thread([place, &status] {
      status = connectByTcp(place, milliseconds(20000)).status();
    });
  };
  Status first, second;
  std::vector<std::thread> threads;
  threads.push_back(join({0, 3, "", 0}, first));
  threads.push_back(join({1, 2, "", 0}, second));
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_NE(first.message().find("rank 1 was started as one of 2"),
            std::string::npos)
      << first.message();
  EXPECT_EQ(second.code(), StatusCode::Cancelled) << second.message();
}

/// Ranks of a world that each have a token of their own, and what they say.
std::vector<Status> onRanksWithTokens(const std::vector<std::string> &tokens,
                                      int port, milliseconds timeout) {
  std::vector<Status> statuses(tokens.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < tokens.size(); ++r)
    threads.emplace_back([&, r] {
      auto transport = connectByTcp(
          {int(r), int(tokens.size()), "localhost", port, "", tokens[r]},
          timeout);
      statuses[r] = transport.status();
      if (transport.ok()) {
        World world(std::move(*transport));
        statuses[r] = world.all().barrier();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

TEST(Tcp, ATokenThatAllRanksKnow) {
  expectSuccess(
      onRanksWithTokens({"a", "a", "a", "a"}, freePort(), milliseconds(20000)));
}

TEST(Tcp, AnotherTokenIsRefused) {
  for (const std::string &other : {std::string("b"), std::string()}) {
    auto statuses =
        onRanksWithTokens({"a", "a", other}, freePort(), milliseconds(1500));
    EXPECT_NE(
        statuses[0].message().find("1 connections of others were refused"),
        std::string::npos)
        << statuses[0].message();
    EXPECT_NE(statuses[2].message().find("(ZC_TOKEN)"), std::string::npos)
        << statuses[2].message();
  }
}

TEST(Tcp, ATokenThatRankZeroLacks) {
  auto statuses = onRanksWithTokens({"", "a"}, freePort(), milliseconds(1500));
  EXPECT_NE(statuses[1].message().find("rank 1 has a token, rank 0 has none"),
            std::string::npos)
      << statuses[1].message();
}

/// Without a token, words of a rank that does not exist end the meeting; those
/// who do not know the token cannot do that.
TEST(Tcp, StrangersDoNotKeepRanksWithATokenFromMeeting) {
  const int port = freePort();
  std::atomic<bool> over{false};
  std::thread stranger([&] {
    tcp::Hello hello;
    hello.rank = 1;
    hello.size = 99;
    hello.hasToken = 1;
    while (!over) {
      auto socket = tcp::connectTo("localhost", port,
                                   tcp::Clock::now() + milliseconds(200));
      if (!socket.ok())
        continue;
      const auto until = tcp::Clock::now() + milliseconds(100);
      const std::string proof(sizeof(Hash256), 'x');
      (void)socket->write(&hello, sizeof(hello), until);
      (void)socket->write(proof.data(), proof.size(), until);
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  for (int r : {0, 1})
    threads.emplace_back([&, r] {
      std::this_thread::sleep_for(milliseconds(r ? 300 : 0));
      auto transport =
          connectByTcp({r, 2, "localhost", port, "", "a"}, milliseconds(20000));
      statuses[size_t(r)] = transport.status();
      if (transport.ok()) {
        World world(std::move(*transport));
        statuses[size_t(r)] = world.all().barrier();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  over = true;
  stranger.join();
  expectSuccess(statuses);
}

TEST(Tcp, ListensOnTheAddressThatIsAskedFor) {
  auto reaches = [](const std::string &listening, const std::string &calling) {
    auto listener = tcp::listenOn(0, listening);
    EXPECT_TRUE(listener.ok()) << listener.status().message();
    return tcp::connectTo(calling, *tcp::portOf(*listener),
                          tcp::Clock::now() + milliseconds(200))
        .ok();
  };
  EXPECT_TRUE(reaches("", "127.0.0.2"));
  EXPECT_TRUE(reaches("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(reaches("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(reaches("localhost", "localhost"));
  EXPECT_FALSE(tcp::listenOn(0, "no.such.host.invalid").ok());
}

} // namespace
} // namespace zc
