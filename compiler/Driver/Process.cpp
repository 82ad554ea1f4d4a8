#include "compiler/Driver/Process.h"

#include "compiler/Driver/Diagnostics.h"
#include "runtime/Base/Surroundings.h"
#include "runtime/Base/Temporaries.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace zc;

std::string zc::findCompiler() {
  // The address of any function of the main program finds it when /proc is
  // missing.
  return llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findCompiler));
}

std::string zc::findRunner() {
  const std::string self = findCompiler();
  llvm::SmallString<256> path(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(path, "zc-run");
  return path.str().str();
}

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t listStops() {
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : kStops)
    sigaddset(&stops, signal);
  return stops;
}

int zc::execRunner(const std::vector<std::string> &arguments) {
  // The other program goes on under this one's name.
  std::string runner = findRunner(), name = "zc";
  std::vector<char *> argv = {name.data()};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  // A signal that comes between the programs waits for the other one's handler.
  sigset_t stops = listStops();
  leaveControlGroupAlone();
  sigprocmask(SIG_BLOCK, &stops, nullptr);
  execv(runner.c_str(), argv.data());
  int error = errno;
  sigprocmask(SIG_UNBLOCK, &stops, nullptr);
  return reportError("cannot start '" + runner + "': " + std::strerror(error));
}

static void onStop(int signal) {
  removeTemporaries();
  _exit(128 + signal);
}

void zc::endCleanlyOnSignals() {
  // nohup has a program ignore the end of its terminal.
  for (int signal : kStops)
    if (std::signal(signal, onStop) == SIG_IGN && signal == SIGHUP)
      std::signal(signal, SIG_IGN);
}
