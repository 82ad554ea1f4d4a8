// Running the program as a user does, for tests.
#ifndef ZC_TEST_UNIT_RUNTIME_SHELL_H
#define ZC_TEST_UNIT_RUNTIME_SHELL_H

#include "test/unit/runtime/TinyArtifact.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace zc::test {

// The program is run through a shell, which also sets limits and sends signals.
struct Outcome {
  int code;
  std::string text; // stdout and stderr together
};

/// Runs a shell command in which `zc-run` is the program.
inline Outcome shell(const std::string &command) {
  std::string full = "zc_run() { '" ZC_RUN "' \"$@\"; }; " + command + " 2>&1";
  std::FILE *pipe = ::popen(("exec 2>&1; " + full).c_str(), "r");
  Outcome outcome{-1, ""};
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    outcome.text.append(buffer, count);
  int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

inline std::vector<nlohmann::json> readLog(const std::string &path) {
  std::vector<nlohmann::json> records;
  std::istringstream lines(readWhole(path));
  for (std::string line; std::getline(lines, line);)
    records.push_back(nlohmann::json::parse(line));
  return records;
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_SHELL_H
