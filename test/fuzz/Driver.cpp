// The main program of all targets: replays a corpus, then tries changes of it,
// without a look at what they reach (LibFuzzer.cpp has one).
//
//   zc-fuzz TARGET [--runs N] [--seconds S] [--seed N] [--crashes DIR]
//           [--hang S] [FILE|DIR…]
//
// A child process does the work; its parent sees it die or hang and saves the
// input that it was at.
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/Mutator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// An allocation beyond this is a finding, as a crash is. Libraries that are not
// built with AddressSanitizer confuse its look into containers.
extern "C" const char *__asan_default_options() {
  return "max_allocation_size_mb=1024:detect_leaks=0:"
         "detect_container_overflow=0:abort_on_error=1";
}

namespace zc::fuzz {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr rlim_t kMostMemory = rlim_t(8) << 30;

struct Options {
  std::string target, crashes = ".";
  uint64_t runs = 0, seed = 1;
  double seconds = 0;
  double hang = 20; // seconds of one input; valgrind takes fifty times as long
  std::vector<std::string> paths;
};

/// Memory that parent and child share.
struct Board {
  std::atomic<uint64_t> done;
  std::atomic<uint64_t> size;
  char input[kMostBytes];
};

std::string readWhole(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// By name, so that every machine goes the same way.
std::vector<fs::path> listFiles(const std::vector<std::string> &paths) {
  std::vector<fs::path> files;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const auto &entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

class Session {
public:
  Session(const Options &options, const Target &target, Board &board)
      : options(options), target(target), board(board) {}

  int run() {
    for (const fs::path &file : listFiles(options.paths))
      inputs.push_back(readWhole(file));
    if (target.seeds)
      for (std::string &seed : target.seeds())
        inputs.push_back(std::move(seed));
    for (const std::string &input : inputs)
      tryOne(input);
    const size_t given = inputs.size();
    if (inputs.empty())
      inputs.emplace_back();
    mutate();
    std::printf("%s: %zu inputs replayed, %llu changes tried\n", target.name,
                given, (unsigned long long)(board.done - given));
    return 0;
  }

private:
  void mutate() {
    Mutator mutator(options.seed, target.words);
    const auto end =
        Clock::now() + std::chrono::duration<double>(options.seconds);
    for (uint64_t i = 0;
         options.seconds > 0 ? Clock::now() < end : i < options.runs; ++i)
      tryOne(mutator.next(inputs));
  }

  void tryOne(const std::string &input) {
    const size_t size = std::min(input.size(), kMostBytes);
    std::memcpy(board.input, input.data(), size);
    board.size = size;
    target.run(std::string_view(input).substr(0, size));
    ++board.done;
  }

  const Options &options;
  const Target &target;
  Board &board;
  std::vector<std::string> inputs;
};

/// Ends when the child has, or ends it when it hangs.
int watch(pid_t child, const Options &options, Board &board) {
  uint64_t done = 0;
  auto since = Clock::now();
  int status = 0;
  bool hangs = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ::usleep(20 * 1000);
    if (board.done != done) {
      done = board.done;
      since = Clock::now();
    } else if (!hangs && Clock::now() - since >
                             std::chrono::duration<double>(options.hang)) {
      hangs = true;
      ::kill(child, SIGKILL);
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return 0;
  const std::string path = options.crashes + "/crash-" + options.target + "-" +
                           std::to_string(board.done) + "-" +
                           std::to_string(options.seed);
  std::ofstream(path, std::ios::binary)
      .write(board.input, std::streamsize(board.size));
  std::fprintf(stderr, "%s: %s after %llu inputs; the input is in '%s'\n",
               options.target.c_str(), hangs ? "hangs" : "died",
               (unsigned long long)board.done, path.c_str());
  return 1;
}

int supervise(const Options &options, const Target &target) {
  void *shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return 1;
  Board &board = *new (shared) Board();
  std::fflush(stdout);
  pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef __SANITIZE_ADDRESS__
    rlimit limit = {kMostMemory, kMostMemory};
    ::setrlimit(RLIMIT_AS, &limit);
#endif
    int code = Session(options, target, board).run();
    std::fflush(stdout);
    ::_exit(code);
  }
  return watch(child, options, board);
}

int usage() {
  std::fprintf(stderr,
               "usage: zc-fuzz TARGET [--runs N | --seconds S] [--seed N] "
               "[--crashes DIR] [--hang S] [FILE|DIR...]\n"
               "targets:");
  for (const Target &target : listTargets())
    std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  return 2;
}

} // namespace

static int runMain(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto value = [&] { return ++i < argc ? argv[i] : ""; };
    if (word == "--runs")
      options.runs = std::strtoull(value(), nullptr, 10);
    else if (word == "--seconds")
      options.seconds = std::atof(value());
    else if (word == "--hang")
      options.hang = std::atof(value());
    else if (word == "--seed")
      options.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--crashes")
      options.crashes = value();
    else if (options.target.empty())
      options.target = word;
    else
      options.paths.push_back(word);
  }
  scratch(); // of the parent, which removes it
  for (const Target &target : listTargets())
    if (options.target == target.name)
      return supervise(options, target);
  return usage();
}

} // namespace zc::fuzz

int main(int argc, char **argv) { return zc::fuzz::runMain(argc, argv); }
