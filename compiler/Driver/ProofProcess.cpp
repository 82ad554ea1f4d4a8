#include "compiler/Driver/ProofProcess.h"

#include "compiler/Driver/OwnedProcess.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Signals.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <limits>
#include <malloc.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace zc;

static std::string print(const ProofReport &report) {
  llvm::json::Array open;
  for (const std::string &name : report.openRules)
    open.push_back(name);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"outcome", int64_t(report.outcome)},
                         {"why", llvm::json::fixUTF8(report.why)},
                         {"tensors", report.tensors},
                         {"steps", report.steps},
                         {"hasCompressed", report.hasCompressed},
                         {"ranks", report.ranks},
                         {"equalBlocks", report.equal.blocks},
                         {"equalParameters", report.equal.parameters},
                         {"rules", report.rules},
                         {"openRules", std::move(open)},
                         {"worst", report.worst}});
  return text;
}

static bool parse(const std::string &text, ProofReport &report) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return false;
  report.outcome =
      ProofReport::Outcome(object->getInteger("outcome").value_or(0));
  report.why = object->getString("why").value_or("").str();
  report.tensors = object->getInteger("tensors").value_or(0);
  report.steps = object->getInteger("steps").value_or(0);
  report.hasCompressed = object->getBoolean("hasCompressed").value_or(false);
  report.ranks = object->getInteger("ranks").value_or(0);
  report.equal.blocks = object->getInteger("equalBlocks").value_or(0);
  report.equal.parameters = object->getInteger("equalParameters").value_or(0);
  report.rules = object->getInteger("rules").value_or(0);
  report.worst = object->getNumber("worst").value_or(0);
  for (const llvm::json::Value &name : *object->getArray("openRules"))
    report.openRules.push_back(name.getAsString().value_or("").str());
  return true;
}

ProofProcess::ProofProcess(const std::function<ProofReport()> &prove) {
  int ends[2];
  if (pipe(ends) != 0)
    return;
  began = ownSeconds();
  process = forkOwned();
  if (process == 0) {
    // Files that this process did not make are not its to remove.
    llvm::sys::unregisterHandlers();
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, SIG_DFL);
    close(ends[0]);
    // Tensors come and go: what one had is kept for the next.
    mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_MXFAST, 0); // else each that is large joins all small ones
    const std::string text = print(prove());
    const bool told = writeAll(ends[1], text.data(), text.size(), "").ok();
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  answers = ends[0];
}

ProofProcess::~ProofProcess() { end(); }

void ProofProcess::end() {
  if (answers >= 0)
    close(answers);
  answers = -1;
  if (process <= 0)
    return;
  kill(process, SIGKILL);
  awaitEnd(process, &inAll);
  process = -1;
}

static double readClock(clockid_t clock) {
  timespec used;
  if (clock_gettime(clock, &used) != 0)
    return 0;
  return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
}

double ProofProcess::usedSeconds() const {
  clockid_t clock;
  if (process <= 0 || clock_getcpuclockid(process, &clock) != 0)
    return inAll; // it has ended
  return readClock(clock);
}

double ProofProcess::ownSeconds() const {
  return readClock(CLOCK_PROCESS_CPUTIME_ID);
}

ProofReport ProofProcess::wait(double seconds) {
  ProofReport report;
  report.why = "no process could be started for it";
  report.isLost = true;
  if (process <= 0)
    return report;
  std::string text;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point asked = Clock::now();
  // A small model's compilation and proof both take next to nothing.
  constexpr double kPart = 0.1, kLeast = 0.25;
  const double most = std::max({kPart * ownSeconds(), kLeast, seconds});
  auto isOver = [&] {
    const std::chrono::duration<double> waited = Clock::now() - asked;
    constexpr double kBusy = 60; // times as long on the busiest machine
    return (waited.count() > seconds && usedSeconds() > most) ||
           waited.count() > kBusy * most;
  };
  while (true) {
    constexpr int kLookEvery = 20; // milliseconds
    pollfd file = {answers, POLLIN, 0};
    const int found = poll(&file, 1, seconds > 0 ? kLookEvery : -1);
    if (found > 0) {
      char buffer[4096];
      const ssize_t got = read(answers, buffer, sizeof(buffer));
      if (got > 0)
        text.append(buffer, size_t(got));
      if (got == 0 || (got < 0 && errno != EINTR))
        break;
    } else if (seconds > 0 && isOver()) {
      report.isLost = false;
      report.why = "it takes more than a tenth of the compilation's time; "
                   "--verify deep lets it";
      end();
      return report;
    }
  }
  report.isLost = !parse(text, report);
  if (report.isLost) {
    const int status = awaitEnd(process);
    process = -1;
    report.why = WIFSIGNALED(status) ? "it was ended by signal " +
                                           std::to_string(WTERMSIG(status))
                                     : "it ended without an answer";
  }
  end();
  return report;
}
