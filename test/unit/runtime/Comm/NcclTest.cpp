// NCCL's communicator among ranks that are threads, each with a fake GPU, by a
// fake of the library that finds out ranks in different collectives.
#include "runtime/Comm/DeviceCommunicator.h"
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Device/Cuda/CudaDevice.h"
#include "test/unit/runtime/Comm/CollectiveChecks.h"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace zc {
namespace {

/// A rank with its device.
struct Gpu {
  World &world;
  Device &device;

  Result<std::unique_ptr<Communicator>> join() {
    std::vector<int> everyone(static_cast<size_t>(world.size()));
    std::iota(everyone.begin(), everyone.end(), 0);
    ZC_ASSIGN_OR_RETURN(void *stream, device.nativeStream(0));
    return joinDeviceGroup(world, everyone, 1, "nccl", stream);
  }
};

class NcclTest : public ::testing::Test {
protected:
  void SetUp() override { ::setenv("ZC_FAKE_CUDA_GPUS", "4", 1); }
  void TearDown() override {
    for (const char *name : {"ZC_FAKE_CUDA_GPUS", "ZC_FAKE_CUDA_FAIL",
                             "ZC_FAKE_NCCL_PATIENCE", "ZC_FAKE_NCCL_LOSE"})
      ::unsetenv(name);
  }

  /// The status of `body` on each rank.
  static std::vector<Status> onRanks(int size,
                                     const std::function<Status(Gpu &)> &body) {
    auto worlds = createInProcessRanks(size);
    std::vector<Status> statuses(worlds.size());
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r)
      threads.emplace_back([&, r] {
        World &world = *worlds[size_t(r)];
        DeviceOptions options;
        options.place = r;
        auto device = cuda::createCudaDevice(options);
        Gpu gpu{world, **device};
        Status status = body(gpu);
        statuses[size_t(r)] = status.ok() ? status : world.fail(status);
      });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }
};

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// Small integers, exact in any order of sums.
std::vector<float> dataOf(int rank, int64_t count) {
  std::vector<float> data(static_cast<size_t>(count));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = float((i * 7 + size_t(rank) * 5) % 13) - 6;
  return data;
}

/// Whether source and destination are one rank's part of the whole.
struct KindCase {
  plan::CollectiveKind kind;
  bool sourceIsPart, destinationIsPart;
};

/// The library's result and that of our own messages are the same.
Status compare(Gpu &gpu, Communicator &library, const KindCase &each,
               Reduction reduction) {
  const int64_t ranks = gpu.world.size(), whole = 6 * ranks, part = 6;
  CollectiveLaunch launch;
  launch.shape = {each.kind, plan::AUTO, ranks, whole, 4};
  launch.shape.root = ranks - 1;
  launch.reduction = reduction;
  std::vector<float> source =
      dataOf(gpu.world.rank(), each.sourceIsPart ? part : whole);
  size_t size = size_t(each.destinationIsPart ? part : whole);
  std::vector<float> results[2];
  Communicator *groups[] = {&library, &gpu.world.all()};
  for (int which : {0, 1}) {
    results[which].assign(size, -99);
    launch.source = source.data();
    launch.destination = results[which].data();
    ZC_ASSIGN_OR_RETURN(auto collective, groups[which]->prepare(launch));
    ZC_RETURN_IF_ERROR(collective->run());
    ZC_RETURN_IF_ERROR(gpu.device.synchronize(0));
  }
  bool hasResult =
      each.kind != plan::REDUCE || gpu.world.rank() == launch.shape.root;
  return !hasResult || results[0] == results[1]
             ? Status()
             : makeError(StatusCode::Internal, "kind ", each.kind, " differs");
}

TEST_F(NcclTest, EveryCollectiveIsOurs) {
  const KindCase kinds[] = {{plan::ALL_REDUCE, false, false},
                            {plan::ALL_GATHER, true, false},
                            {plan::REDUCE_SCATTER, false, true},
                            {plan::BROADCAST, false, false},
                            {plan::REDUCE, false, false}};
  for (int ranks : {2, 3})
    for (const Status &status : onRanks(ranks, [&](Gpu &gpu) -> Status {
           ZC_ASSIGN_OR_RETURN(auto group, gpu.join());
           for (const KindCase &each : kinds)
             for (Reduction reduction : {Reduction::Sum, Reduction::Max})
               ZC_RETURN_IF_ERROR(compare(gpu, *group, each, reduction));
           return Status();
         }))
      EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(NcclTest, ConformsToEveryCheck) {
  for (int ranks : {1, 2, 3})
    for (const Status &status : onRanks(ranks, [&](Gpu &gpu) -> Status {
           ZC_ASSIGN_OR_RETURN(auto group, gpu.join());
           return test::checkCollectives(
               {*group, [&] { return gpu.device.synchronize(0); }});
         }))
      EXPECT_TRUE(status.ok()) << status.message();
}

/// Element i of rank r's source.
float marked(int64_t rank, int64_t i) { return float(100 * rank + i); }

Status expectMessages(Gpu &gpu, Communicator &group, plan::CollectiveKind kind,
                      int64_t elements, int64_t sourceSize,
                      const std::vector<float> &expected) {
  std::vector<float> source, destination(expected.size(), -1);
  for (int64_t i = 0; i < sourceSize; ++i)
    source.push_back(marked(gpu.world.rank(), i));
  CollectiveLaunch launch;
  launch.shape = {kind, plan::AUTO, gpu.world.size(), elements, 4};
  launch.shape.root = 1;
  launch.source = source.data();
  launch.destination = destination.data();
  ZC_ASSIGN_OR_RETURN(auto collective, group.prepare(launch));
  ZC_RETURN_IF_ERROR(collective->run());
  ZC_RETURN_IF_ERROR(gpu.device.synchronize(0));
  return destination == expected
             ? Status()
             : makeError(StatusCode::Internal, "kind ", kind, " is wrong");
}

TEST_F(NcclTest, MessagesGoWhereTheyShould) {
  const int64_t ranks = 3;
  for (const Status &status : onRanks(int(ranks), [&](Gpu &gpu) -> Status {
         ZC_ASSIGN_OR_RETURN(auto group, gpu.join());
         const int64_t rank = gpu.world.rank(), before = (rank + 2) % ranks;
         std::vector<float> crossed, gathered;
         for (int64_t from = 0; from < ranks; ++from)
           for (int64_t i : {0, 1}) {
             crossed.push_back(marked(from, 2 * rank + i));
             if (rank == 1)
               gathered.push_back(marked(from, i));
           }
         ZC_RETURN_IF_ERROR(
             expectMessages(gpu, *group, plan::ALL_TO_ALL, 6, 6, crossed));
         ZC_RETURN_IF_ERROR(
             expectMessages(gpu, *group, plan::GATHER, 6, 2, gathered));
         ZC_RETURN_IF_ERROR(
             expectMessages(gpu, *group, plan::SCATTER, 6, 6,
                            {marked(1, 2 * rank), marked(1, 2 * rank + 1)}));
         return expectMessages(gpu, *group, plan::SEND_RECEIVE, 2, 2,
                               {marked(before, 0), marked(before, 1)});
       }))
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(NcclTest, AnErrorThatComesLaterIsToldOnce) {
  ::setenv("ZC_FAKE_CUDA_FAIL", "ncclCommGetAsyncError:8:6", 1);
  auto statuses = onRanks(2, [](Gpu &gpu) -> Status {
    ZC_ASSIGN_OR_RETURN(auto group, gpu.join());
    return gpu.world.waitFor([&]() -> Result<bool> {
      ZC_RETURN_IF_ERROR(group->check());
      return false;
    });
  });
  int told = 0;
  for (const Status &status : statuses)
    if (status.code() != StatusCode::Cancelled) {
      ++told;
      expectHas(status.message(), "NCCL: fake remote error");
      expectHas(status.message(), "another rank has failed");
    }
  EXPECT_EQ(told, 1);
}

TEST_F(NcclTest, AGroupThatIsAbortedLetsGoOfItsStream) {
  ::setenv("ZC_FAKE_NCCL_PATIENCE", "50", 1);
  ::setenv("ZC_FAKE_NCCL_LOSE", "1:1", 1);
  for (const Status &status : onRanks(2, [](Gpu &gpu) -> Status {
         ZC_ASSIGN_OR_RETURN(auto group, gpu.join());
         float value = 1;
         CollectiveLaunch launch;
         launch.shape = {plan::ALL_REDUCE, plan::AUTO, 2, 1, 4};
         launch.source = launch.destination = &value;
         ZC_ASSIGN_OR_RETURN(auto collective, group->prepare(launch));
         ZC_RETURN_IF_ERROR(collective->run());
         ZC_ASSIGN_OR_RETURN(bool before, gpu.device.isIdle(0));
         group->abort();
         ZC_RETURN_IF_ERROR(gpu.device.synchronize(0));
         ZC_ASSIGN_OR_RETURN(bool after, gpu.device.isIdle(0));
         return !before && after
                    ? Status()
                    : makeError(StatusCode::Internal, before, after);
       }))
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(NcclTest, ALibraryThatIsMissingIsNamed) {
  auto statuses = onRanks(1, [](Gpu &gpu) -> Status {
    return joinDeviceGroup(gpu.world, {0}, 1, "nonesuch", nullptr).status();
  });
  expectHas(statuses[0].message(), "cannot open the plugin of nonesuch");
}

} // namespace
} // namespace zc
