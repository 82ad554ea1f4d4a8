// Handles of libzc.so: opening, closing, several at once, tensors of others.
#include "runtime/Api/DlPack.h"
#include "runtime/Api/zc.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace zc {
namespace {

using namespace test;

const std::vector<float> kX = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
const std::vector<float> kLabels = {0.5f, -1, 2, 1.5f};
const std::vector<int64_t> kIds = {0, 1, 2, 3};
const int64_t kXDims[] = {4, 3}, kLabelDims[] = {4, 1}, kIdsDims[] = {4};

/// An open session with its inputs.
zc_session *openTiny(const std::string &path,
                     const zc_open_options *options = nullptr) {
  zc_session *session = nullptr;
  EXPECT_EQ(zc_open(path.c_str(), options, &session), ZC_OK)
      << zc_last_error(session);
  EXPECT_EQ(zc_set_input(session, "x", ZC_FLOAT32, 2, kXDims, kX.data()),
            ZC_OK);
  EXPECT_EQ(zc_set_input(session, "labels", ZC_FLOAT32, 2, kLabelDims,
                         kLabels.data()),
            ZC_OK);
  EXPECT_EQ(zc_set_input(session, "ids", ZC_INT64, 1, kIdsDims, kIds.data()),
            ZC_OK);
  return session;
}

std::vector<double> losses(zc_session *session, int steps) {
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    double loss = -1;
    if (zc_step(session) != ZC_OK || zc_metric(session, "loss", &loss) != ZC_OK)
      return {};
    all.push_back(loss);
  }
  return all;
}

class ApiHandles : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.path("tiny.zca");
    writeArtifact(path, tinyManifest());
  }
  TemporaryFolder folder;
  std::string path;
};

TEST_F(ApiHandles, OfWhatCannotBeOpenedTellWhy) {
  zc_session *session = nullptr;
  EXPECT_EQ(zc_open(folder.path("none.zca").c_str(), nullptr, &session),
            ZC_NOT_FOUND);
  ASSERT_NE(session, nullptr);
  EXPECT_NE(std::string(zc_last_error(session)).find("none.zca"),
            std::string::npos);
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_STREQ(zc_last_error(session), "the session was not opened");
  EXPECT_EQ(zc_input_count(session), 0u);
  EXPECT_EQ(zc_close(&session), ZC_OK);
  EXPECT_EQ(session, nullptr);

  writeWhole(folder.path("text.zca"), "no artifact");
  EXPECT_EQ(zc_open(folder.path("text.zca").c_str(), nullptr, &session),
            ZC_CORRUPT);
  zc_close(&session);
  EXPECT_EQ(zc_open(nullptr, nullptr, &session), ZC_INVALID_ARGUMENT);
  zc_close(&session);
  zc_open_options options = ZC_OPEN_OPTIONS_INIT;
  options.threads = 10000;
  EXPECT_EQ(zc_open(path.c_str(), &options, &session), ZC_INVALID_ARGUMENT);
  zc_close(&session);
  EXPECT_EQ(zc_open(path.c_str(), nullptr, nullptr), ZC_INVALID_ARGUMENT);
}

TEST_F(ApiHandles, CloseTwice) {
  zc_session *session = openTiny(path);
  EXPECT_EQ(zc_close(&session), ZC_OK);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(zc_close(&session), ZC_OK);
  EXPECT_EQ(zc_close(nullptr), ZC_OK);
  EXPECT_EQ(zc_step(session), ZC_INVALID_ARGUMENT);
  EXPECT_STREQ(zc_last_error(session), "there is no session");
  EXPECT_EQ(zc_steps_done(session), 0);
  EXPECT_EQ(zc_output_data(session, "pred/out"), nullptr);
}

TEST_F(ApiHandles, SeveralInOneThread) {
  zc_session *one = openTiny(path), *two = openTiny(path);
  const std::vector<double> alone = losses(one, 6);
  ASSERT_EQ(alone.size(), 6u);
  zc_close(&one);
  one = openTiny(path);
  std::vector<double> first, second;
  for (int i = 0; i < 6; ++i) {
    for (double loss : losses(one, 1))
      first.push_back(loss);
    for (double loss : losses(two, 1))
      second.push_back(loss);
  }
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
  zc_close(&one);
  zc_close(&two);
}

/// Kernels are prepared for a number of threads: each turn must have it.
TEST_F(ApiHandles, SessionsOfDifferentThreadsTakeTurns) {
  plan::Manifest manifest = tinyManifest();
  manifest.mutable_target()->set_threads(2);
  writeArtifact(path, manifest);
  zc_open_options one = ZC_OPEN_OPTIONS_INIT, two = ZC_OPEN_OPTIONS_INIT;
  one.threads = 1;
  two.threads = 2;
  zc_session *narrow = openTiny(path, &one), *wide = openTiny(path, &two);
  const std::vector<double> expected = losses(narrow, 4);
  ASSERT_EQ(expected.size(), 4u);
  EXPECT_EQ(losses(wide, 2).size(), 2u);
  EXPECT_EQ(losses(narrow, 2).size(), 2u);
  std::vector<double> rest;
  std::thread other([&] { rest = losses(wide, 2); });
  other.join();
  EXPECT_EQ(rest, std::vector<double>(expected.begin() + 2, expected.end()));
  zc_close(&narrow);
  zc_close(&wide);
}

TEST_F(ApiHandles, TwoThreadsAtOnce) {
  zc_session *session = openTiny(path);
  const std::vector<double> alone = losses(session, 200);
  ASSERT_EQ(alone.size(), 200u);
  zc_close(&session);
  std::vector<double> results[2];
  std::vector<std::thread> threads;
  for (auto &result : results)
    threads.emplace_back([&] {
      zc_session *own = openTiny(path);
      result = losses(own, 200);
      zc_close(&own);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(results[0], alone);
  EXPECT_EQ(results[1], alone);
}

TEST_F(ApiHandles, AnotherCallMeanwhileIsRefused) {
  struct Told {
    zc_session **session;
    std::vector<zc_status> answers;
    std::string text;
  } told;
  plan::Manifest manifest = tinyManifest();
  manifest.mutable_target()->set_threads(1000); // more than there are: a note
  writeArtifact(path, manifest);
  zc_session *session = nullptr;
  told.session = &session;
  zc_open_options options = ZC_OPEN_OPTIONS_INIT;
  options.log_context = &told;
  options.log = [](void *context, zc_log_level level, const char *message) {
    auto *mine = static_cast<Told *>(context);
    EXPECT_EQ(level, ZC_LOG_NOTE);
    mine->text = message;
    mine->answers.push_back(zc_step(*mine->session));
    zc_session *copy = *mine->session;
    mine->answers.push_back(zc_close(&copy));
  };
  ASSERT_EQ(zc_open(path.c_str(), &options, &session), ZC_OK)
      << zc_last_error(session);
  EXPECT_NE(told.text.find("of the 1000 threads"), std::string::npos)
      << told.text;
  EXPECT_EQ(told.answers, std::vector<zc_status>({ZC_BUSY, ZC_BUSY}));
  zc_close(&session);
}

// --- What is left behind
// ---------------------------------------------------------

size_t countDescriptors() {
  size_t count = 0;
  for (const auto &each : std::filesystem::directory_iterator("/proc/self/fd"))
    count += !each.path().empty();
  return count;
}

size_t countLines(const char *file) {
  std::ifstream stream(file);
  std::string line;
  size_t count = 0;
  while (std::getline(stream, line))
    ++count;
  return count;
}

size_t residentPages() {
  std::ifstream stream("/proc/self/statm");
  size_t all = 0, resident = 0;
  stream >> all >> resident;
  return resident;
}

TEST_F(ApiHandles, LeaveNothingBehind) {
  auto openAndClose = [&] {
    zc_session *session = openTiny(path);
    ASSERT_EQ(losses(session, 1).size(), 1u);
    zc_close(&session);
  };
  for (int i = 0; i < 20; ++i) // libraries, caches, the allocator's pools
    openAndClose();
  const size_t descriptors = countDescriptors();
  const size_t mappings = countLines("/proc/self/maps");
  const size_t pages = residentPages();
  for (int i = 0; i < 1000; ++i)
    openAndClose();
  EXPECT_EQ(countDescriptors(), descriptors);
  EXPECT_LE(countLines("/proc/self/maps"), mappings + 8);
// These keep what is freed for a while, or what they know of it.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&         \
    !defined(ZC_TEST_EMULATED)
  EXPECT_LE(residentPages(), pages + 256) << "1 MiB in 1000 times";
#endif
}

TEST_F(ApiHandles, WithoutSuccessLeaveNothingBehind) {
  writeWhole(folder.path("text.zca"), "no artifact");
  const std::string wrong = folder.path("text.zca");
  auto fail = [&] {
    zc_session *session = nullptr;
    EXPECT_EQ(zc_open(wrong.c_str(), nullptr, &session), ZC_CORRUPT);
    zc_close(&session);
  };
  fail();
  const size_t descriptors = countDescriptors();
  for (int i = 0; i < 200; ++i)
    fail();
  EXPECT_EQ(countDescriptors(), descriptors);
}

// --- DLPack
// ----------------------------------------------------------------------

/// A tensor that counts how often it was deleted.
template <typename Managed> struct Counted {
  std::vector<float> values = kX;
  int64_t shape[2] = {4, 3}, strides[2] = {3, 1};
  int deleted = 0;
  Managed managed = {};

  Counted() {
    DLTensor &tensor = managed.dl_tensor;
    tensor.data = values.data();
    tensor.device = {1, 0};
    tensor.ndim = 2;
    tensor.dtype = {2, 32, 1};
    tensor.shape = shape;
    tensor.strides = strides;
    managed.manager_ctx = this;
    managed.deleter = [](Managed *self) {
      ++static_cast<Counted *>(self->manager_ctx)->deleted;
    };
  }
};

TEST_F(ApiHandles, OwnDlPackTensors) {
  zc_session *session = openTiny(path);
  const std::vector<double> expected = losses(session, 1);
  zc_close(&session);
  session = openTiny(path);
  Counted<DLManagedTensor> one;
  ASSERT_EQ(zc_set_input_dlpack(session, "x", &one.managed), ZC_OK)
      << zc_last_error(session);
  EXPECT_EQ(losses(session, 1), expected);
  EXPECT_EQ(one.deleted, 0);
  Counted<DLManagedTensorVersioned> two;
  two.managed.version = {1, 1};
  two.managed.dl_tensor.strides = nullptr;
  ASSERT_EQ(zc_set_input_dlpack_versioned(session, "x", &two.managed), ZC_OK)
      << zc_last_error(session);
  EXPECT_EQ(one.deleted, 1);
  EXPECT_EQ(losses(session, 1).size(), 1u);
  zc_close(&session);
  EXPECT_EQ(one.deleted, 1);
  EXPECT_EQ(two.deleted, 1);
}

TEST_F(ApiHandles, LeaveRefusedDlPackTensorsToTheirOwner) {
  zc_session *session = openTiny(path);
  auto refuse = [&](auto change, const char *why) {
    Counted<DLManagedTensor> mine;
    change(mine);
    EXPECT_NE(zc_set_input_dlpack(session, "x", &mine.managed), ZC_OK) << why;
    EXPECT_NE(std::string(zc_last_error(session)).find(why), std::string::npos)
        << zc_last_error(session);
    EXPECT_EQ(mine.deleted, 0);
  };
  refuse(
      [](auto &mine) {
        mine.managed.dl_tensor.device = {2, 0};
      },
      "bring it to the host");
  refuse([](auto &mine) { mine.strides[0] = 1, mine.strides[1] = 4; },
         "row-major");
  refuse(
      [](auto &mine) {
        mine.managed.dl_tensor.dtype = {5, 64, 1};
      },
      "no input has");
  refuse([](auto &mine) { mine.managed.dl_tensor.dtype.lanes = 4; },
         "no input has");
  refuse([](auto &mine) { mine.shape[1] = 2, mine.strides[0] = 2; },
         "expected float32");
  Counted<DLManagedTensorVersioned> later;
  later.managed.version = {2, 0};
  EXPECT_EQ(zc_set_input_dlpack_versioned(session, "x", &later.managed),
            ZC_UNSUPPORTED);
  EXPECT_EQ(later.deleted, 0);
  EXPECT_EQ(zc_set_input_dlpack(session, "x", nullptr), ZC_INVALID_ARGUMENT);
  EXPECT_EQ(losses(session, 1).size(), 1u) << "what was set before is there";
  zc_close(&session);
}

} // namespace
} // namespace zc
