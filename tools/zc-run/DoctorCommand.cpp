// `zc doctor`: what this machine has.
#include "runtime/Driver/Doctor.h"
#include "tools/zc-run/Commands.h"

#include <cstdio>

namespace zc {

namespace {

struct DoctorArguments {
  bool json = false, quick = false;
};

/// Everything works without GPUs and other ranks, nothing without a CPU.
bool canTrain(const std::vector<Finding> &findings) {
  for (const Finding &finding : findings)
    if (finding.what == "cpu")
      return finding.usable;
  return false;
}

} // namespace

Command addDoctorCommand(CLI::App &app) {
  auto given = std::make_shared<DoctorArguments>();
  app.add_flag("--json", given->json, "print one JSON object");
  app.add_flag("--quick", given->quick, "measure nothing");
  return [given] {
    std::vector<Finding> findings = examineMachine(!given->quick);
    std::string text =
        given->json ? findingsToJson(findings) : printFindings(findings);
    bool written =
        std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!written)
      return finish(errnoError("cannot write to standard output"));
    return canTrain(findings) ? 0 : 1;
  };
}

} // namespace zc
