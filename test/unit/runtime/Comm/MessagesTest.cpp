// Messages that go on by themselves, through every transport.
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"
#include "test/unit/runtime/Comm/MessageChecks.h"
#include "test/unit/runtime/Comm/MpiRun.h"

#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>

namespace zc {
namespace {

using namespace zc::test;

using Body = std::function<Status(World &)>;

std::vector<Status> onThreads(const std::function<Status(int)> &body) {
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] { statuses[size_t(rank)] = body(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

std::vector<Status> inProcess(const Body &body) {
  auto worlds = createInProcessRanks(2);
  return onThreads([&](int rank) {
    Status status = body(*worlds[size_t(rank)]);
    if (rank == 1) // its world goes, and with it all it would answer
      worlds[1].reset();
    return status;
  });
}

std::vector<Status> byTcp(const Body &body) {
  const int port = *tcp::portOf(*tcp::listenOn(0));
  return onThreads([&](int rank) -> Status {
    ZC_ASSIGN_OR_RETURN(
        std::unique_ptr<Transport> transport,
        connectByTcp({rank, 2, "localhost", port}, Milliseconds(20000)));
    World world(std::move(transport));
    world.setTimeout(Milliseconds(20000));
    return body(world);
  });
}

struct Way {
  const char *name;
  std::vector<Status> (*run)(const Body &body);
};

class Messages : public ::testing::TestWithParam<Way> {
protected:
  std::vector<Status> run(const Body &body) { return GetParam().run(body); }
  void expectSuccess(const Body &body) {
    for (const Status &status : run(body))
      EXPECT_TRUE(status.ok()) << status.message();
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, Messages,
                         ::testing::Values(Way{"InProcess", inProcess},
                                           Way{"Tcp", byTcp}),
                         [](const auto &info) { return info.param.name; });

std::string signalFile() {
  std::string path =
      ::testing::TempDir() + "zc-messages-" + std::to_string(::getpid());
  ::unlink(path.c_str());
  return path;
}

TEST_P(Messages, ManyLinesInAnyOrder) { expectSuccess(manyLines); }

TEST_P(Messages, MoveWhileTheirSenderComputes) {
  const std::string file = signalFile();
  expectSuccess([&](World &world) { return movesMeanwhile(world, file); });
  ::unlink(file.c_str());
}

TEST_P(Messages, ComeBesideCollectives) { expectSuccess(besideCollectives); }

TEST_P(Messages, OneTakenBackLeavesItsBytesAlone) { expectSuccess(takenBack); }

TEST_P(Messages, AMissingRankIsNamed) {
  for (bool isSend : {false, true}) {
    std::atomic<bool> over{false};
    auto statuses = run([&](World &world) {
      Status status = isKeptWaiting(world, isSend, [&] {
        while (!over)
          std::this_thread::sleep_for(Milliseconds(5));
      });
      if (world.rank() == 0)
        over = true;
      return status;
    });
    EXPECT_EQ(statuses[0].code(), StatusCode::DeadlineExceeded);
    EXPECT_NE(statuses[0].message().find(
                  std::string("waited 0.2 s ") +
                  (isSend ? "until a message could be sent to"
                          : "for a message from") +
                  " rank 1, which does not answer (--timeout)"),
              std::string::npos)
        << statuses[0].message();
  }
}

TEST_P(Messages, TheFailureOfOneEndsTheWaiting) {
  for (bool isSend : {false, true}) {
    auto statuses = run([&](World &world) -> Status {
      if (world.rank() == 1)
        return world.fail(Status(StatusCode::IoError, "the disk is full"));
      std::vector<char> bytes(8 << 20);
      ZC_ASSIGN_OR_RETURN(
          PostedMessage message,
          world.post({isSend, 1, bytes.data(), bytes.size()}, lineChannel(0)));
      Status status = world.await(message);
      EXPECT_FALSE(message.isUnderWay());
      EXPECT_EQ(
          world.post({isSend, 1, bytes.data(), bytes.size()}, lineChannel(0))
              .status()
              .code(),
          StatusCode::Cancelled);
      return status;
    });
    EXPECT_EQ(statuses[0].code(), StatusCode::Cancelled)
        << statuses[0].message();
    EXPECT_EQ(statuses[1].message(), "rank 1: the disk is full");
  }
}

TEST_P(Messages, TheOneThatKnowsTellsTheUserFirst) {
  for (bool tells : {false, true}) {
    std::atomic<bool> isTold{false};
    auto statuses = run([&](World &world) -> Status {
      if (world.rank() == 1) {
        Status status = world.fail(Status(StatusCode::IoError, "no space"));
        std::this_thread::sleep_for(Milliseconds(100));
        isTold = true;
        if (tells)
          world.tellTold();
        return status;
      }
      Status status = world.all().barrier();
      EXPECT_EQ(world.awaitTold(Milliseconds(tells ? 20000 : 10)), tells);
      EXPECT_TRUE(isTold || !tells);
      return status;
    });
    EXPECT_EQ(statuses[0].code(), StatusCode::Cancelled)
        << statuses[0].message();
  }
}

TEST_P(Messages, OneThatFailsLateHasHeardOfTheFirst) {
  std::atomic<bool> isKnown{false};
  auto statuses = run([&](World &world) -> Status {
    if (world.rank() == 1) {
      Status status =
          world.fail(Status(StatusCode::DeadlineExceeded, "too late"));
      isKnown = true;
      return status;
    }
    // As one that was stopped: it asks nothing of the others meanwhile.
    while (!isKnown)
      std::this_thread::sleep_for(Milliseconds(1));
    std::this_thread::sleep_for(Milliseconds(100));
    return world.fail(Status(StatusCode::IoError, "the folder is gone"));
  });
  EXPECT_EQ(statuses[0].code(), StatusCode::Cancelled) << statuses[0].message();
  EXPECT_EQ(statuses[1].message(), "rank 1: too late");
}

TEST_P(Messages, OnesOfOtherSizesAreTold) {
  auto statuses = run([](World &world) -> Status {
    std::vector<char> bytes(world.rank() == 0 ? 8 : 12);
    ZC_ASSIGN_OR_RETURN(PostedMessage message,
                        world.post({world.rank() == 0, 1 - world.rank(),
                                    bytes.data(), bytes.size()},
                                   lineChannel(0)));
    return world.await(message);
  });
  int told = 0;
  for (const Status &status : statuses)
    told += status.message().find(
                "rank 0 sent 8 bytes, but rank 1 expected 12: they do not send "
                "and receive the same message") != std::string::npos;
  EXPECT_EQ(told, 1) << statuses[0].message() << statuses[1].message();
}

TEST(MessagesByTcp, ARankThatDiesIsNamed) {
  for (bool isSend : {false, true}) {
    auto statuses = byTcp([&](World &world) -> Status {
      if (world.rank() == 1)
        return Status(); // its connections close
      std::vector<char> bytes(8 << 20);
      ZC_ASSIGN_OR_RETURN(
          PostedMessage message,
          world.post({isSend, 1, bytes.data(), bytes.size()}, lineChannel(0)));
      return world.await(message);
    });
    EXPECT_NE(statuses[0].message().find("rank 1 is gone"), std::string::npos)
        << statuses[0].message();
  }
}

#ifdef ZC_TEST_MESSAGES
/// The output of two processes of mpirun.
std::string byMpi(const std::string &check, const std::string &file) {
  std::string text = runByMpi(2, check + " '" + file + "'");
  ::unlink(file.c_str());
  return text;
}

TEST(MessagesByMpi, ComeAndMove) {
  for (const char *check : {"lines", "moves"}) {
    std::string text = byMpi(check, signalFile());
    for (const char *rank : {"rank 0: well", "rank 1: well"})
      EXPECT_NE(text.find(rank), std::string::npos) << check << ": " << text;
  }
}

TEST(MessagesByMpi, AMissingRankIsNamed) {
  for (const char *check : {"send", "receive"}) {
    std::string text = byMpi(check, signalFile());
    EXPECT_NE(text.find("rank 1, which does not answer (--timeout)"),
              std::string::npos)
        << check << ": " << text;
  }
}
#endif

} // namespace
} // namespace zc
