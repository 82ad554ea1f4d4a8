// What libzc.so leaves alone: the process that it is in belongs to others.
#include "runtime/Api/zc.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <cfenv>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace zc {
namespace {

using namespace test;

/// A whole life of a session: steps, an evaluation, files, a failure.
class ApiProcess : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.path("tiny.zca");
    writeArtifact(path, tinyManifest());
  }
  zc_session *open() {
    zc_session *session = nullptr;
    EXPECT_EQ(zc_open(path.c_str(), nullptr, &session), ZC_OK)
        << zc_last_error(session);
    const int64_t x[] = {4, 3}, labels[] = {4, 1}, ids[] = {4};
    zc_copy_input(session, "x", ZC_FLOAT32, 2, x,
                  std::vector<float>(12, 1).data());
    zc_copy_input(session, "labels", ZC_FLOAT32, 2, labels,
                  std::vector<float>(4).data());
    zc_copy_input(session, "ids", ZC_INT64, 1, ids,
                  std::vector<int64_t>(4).data());
    EXPECT_EQ(zc_step(session), ZC_OK) << zc_last_error(session);
    return session;
  }
  void live() {
    zc_session *session = open();
    EXPECT_EQ(zc_eval(session), ZC_OK) << zc_last_error(session);
    EXPECT_EQ(zc_save(session, folder.path("kept").c_str(), 1), ZC_OK);
    EXPECT_EQ(zc_resume(session, folder.path("kept").c_str()), ZC_OK);
    EXPECT_EQ(zc_export_weights(session, folder.path("w.safetensors").c_str()),
              ZC_OK);
    EXPECT_EQ(zc_set_data(session, "none.npz", 0), ZC_NOT_FOUND);
    zc_close(&session);
    std::filesystem::remove_all(folder.path("kept"));
  }
  TemporaryFolder folder;
  std::string path;
};

/// What others may have set in a process, as one text.
std::string describeProcess() {
  std::string text;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now = {};
    if (::sigaction(signal, nullptr, &now) == 0)
      text += std::to_string(signal) + ": " +
              std::to_string(reinterpret_cast<uintptr_t>(now.sa_handler)) +
              "\n";
  }
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal)
    text += ::sigismember(&blocked, signal) == 1 ? '1' : '0';
  const mode_t mask = ::umask(0);
  ::umask(mask);
  cpu_set_t processors;
  ::sched_getaffinity(0, sizeof(processors), &processors);
  text += "\n" + std::filesystem::current_path().string() + "\n" +
          std::to_string(mask) + "\n" + std::setlocale(LC_ALL, nullptr) + "\n" +
          std::to_string(CPU_COUNT(&processors)) + "\n";
  for (char **each = environ; *each; ++each)
    text += std::string(*each) + "\n";
  return text;
}

/// Whether numbers below the smallest normal one are still numbers, and how
/// the thread rounds.
std::string describeArithmetic() {
  volatile float small = 1e-38f, part = small / 1024;
  return std::to_string(part > 0) + " " + std::to_string(std::fegetround());
}

TEST_F(ApiProcess, StaysAsItWas) {
  const std::string before = describeProcess();
  const std::string arithmetic = describeArithmetic();
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  live();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(describeProcess(), before);
  EXPECT_EQ(describeArithmetic(), arithmetic);
}

/// The system ends whoever writes beyond it and does not hold its signal back.
TEST_F(ApiProcess, OutlivesALimitOnFiles) {
  zc_session *session = open();
  struct rlimit before, small;
  ::getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 16;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const zc_status saved = zc_save(session, folder.path("kept").c_str(), 0);
  const std::string why = zc_last_error(session);
  const zc_status exported =
      zc_export_weights(session, folder.path("w.safetensors").c_str());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(saved, ZC_RESOURCE_EXHAUSTED) << why;
  EXPECT_NE(why.find("kept"), std::string::npos) << why;
  EXPECT_NE(exported, ZC_OK);
  EXPECT_FALSE(std::filesystem::exists(folder.path("w.safetensors")));
  EXPECT_EQ(zc_step(session), ZC_OK) << "it goes on";
  EXPECT_EQ(zc_save(session, folder.path("kept").c_str(), 0), ZC_OK)
      << zc_last_error(session);
  zc_close(&session);
}

} // namespace
} // namespace zc
