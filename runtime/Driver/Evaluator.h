// `zc eval`: runs an artifact's forward over any number of samples, and writes
// its outputs or prints loss and metrics.
#ifndef ZC_RUNTIME_DRIVER_EVALUATOR_H
#define ZC_RUNTIME_DRIVER_EVALUATOR_H

#include "runtime/Driver/Launch.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

struct EvalOptions {
  std::string artifact;
  std::map<std::string, std::string> inputs; // name to .npy file
  std::string outputDir;
  std::string data;  // samples with labels, in place of inputs and outputs
  int tokenBits = 0; // of .bin files without a header; 0: nobody has said
  std::vector<std::string> metrics;
  bool json = false;
  std::string checkpoint; // DIR or DIR/step-N; empty: the artifact's weights
  bool averages = false;  // the checkpoint's moving averages of them
  uint64_t seed = 0;      // of weights that a run draws
  int threads = 0;
  std::optional<std::string> tuningFile; // none: by rule; empty: the usual one
  std::string offloadFolder; // for what is offloaded; empty: $TMPDIR, /var/tmp
};

/// Returns the signal that stopped it, which leaves no output, or 0.
Result<int> evaluate(const EvalOptions &options, const Rank &rank);

/// An output's file name: characters that a file system may refuse become '_'.
std::string sanitizeName(const std::string &name);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_EVALUATOR_H
