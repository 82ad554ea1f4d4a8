#include "runtime/Base/Usage.h"
#include "runtime/Base/Status.h"

#include <algorithm>
#include <numeric>

namespace zc {

namespace {

struct CommandOptions {
  const char *command;
  std::vector<std::string> options;
};

/// Options of each command, to suggest the right command for one. A test
/// compares the list with --help.
const std::vector<CommandOptions> kAllOptions = {
    {"compile",
     {"--accumulate",
      "--add-loss",
      "--aggregation",
      "--batch",
      "--batch-dim",
      "--batchnorm",
      "--batchnorm-stats",
      "--beta1",
      "--beta2",
      "--bucket-mib",
      "--chunks",
      "--class-axis",
      "--class-weights",
      "--clip-norm",
      "--clip-value",
      "--cluster",
      "--collective-algorithm",
      "--compress-activations",
      "--cpu-arch",
      "--cpu-threads",
      "--cubins",
      "--cuda-path",
      "--dim",
      "--divide-messages",
      "--dropout",
      "--dump-ir",
      "--ema",
      "--emit",
      "--eps",
      "--fp8-exclude",
      "--fp8-scaling",
      "--freeze",
      "--freeze-step",
      "--gather-precision",
      "--gradient-histogram",
      "--gradient-sums",
      "--group",
      "--huber-delta",
      "--ignore-index",
      "--init",
      "--input-value",
      "--label-smoothing",
      "--labels",
      "--libraries",
      "--logits",
      "--loss",
      "--loss-output",
      "--loss-scale",
      "--matmul-precision",
      "--max-trips",
      "--memory-budget",
      "--mesh",
      "--mode",
      "--moe-capacity",
      "--moe-group",
      "--moment-precision",
      "--momentum",
      "--nesterov",
      "--no-reshard-after-forward",
      "--no-weight-decay",
      "--offload",
      "--optimizer",
      "--output",
      "--partition-activations",
      "--pos-weight",
      "--precision",
      "--prefetch",
      "--recompute",
      "--reduce-precision",
      "--reshard-every",
      "--reshard-last",
      "--schedule",
      "--sequence-parallel",
      "--shard",
      "--sp-attention",
      "--stage-replicas",
      "--stages",
      "--stop-gradient",
      "--target",
      "--token-dim",
      "--tp-rules",
      "--train",
      "--train-scales",
      "--unit",
      "--verify",
      "--vertical-sync",
      "--weight-copies",
      "--weight-decay",
      "--weights",
      "--write-stages",
      "--zero",
      "--zero-group"}},
    {"run",
     {"--beta1",          "--beta2",       "--checkpoint",  "--clip-norm",
      "--clip-value",     "--data",        "--epochs",      "--eval-data",
      "--eval-every",     "--init-from",   "--keep",        "--keep-best",
      "--local-ranks",    "--log",         "--log-every",   "--lr",
      "--lr-decay-steps", "--lr-factor",   "--lr-power",    "--lr-schedule",
      "--lr-step-size",   "--max-time",    "--metrics",     "--min-lr",
      "--momentum",       "--no-shuffle",  "--offload-dir", "--overwrite",
      "--patience",       "--profile",     "--quiet",       "--replica-dir",
      "--replicate",      "--resume",      "--sandbox",     "--save-beside",
      "--save-every",     "--seed",        "--shuffle",     "--steps",
      "--tensorboard",    "--threads",     "--timeout",     "--token-bits",
      "--trace",          "--trace-steps", "--trust",       "--tune",
      "--warmup-steps",   "--weight-decay"}},
    {"launch", {"--max-restarts", "--min-ranks", "--ranks", "--replicate"}},
    {"sign", {"--key", "--new-key", "--output"}},
    {"eval",
     {"--batch-dim", "--checkpoint", "--data", "--dim", "--ema", "--input",
      "--input-value", "--json", "--local-ranks", "--max-trips", "--metrics",
      "--offload-dir", "--output-dir", "--sandbox", "--seed", "--threads",
      "--token-bits", "--trust", "--tune"}},
    {"doctor", {"--json", "--quick"}},
    {"verify", {"--atol", "--output-dir", "--rtol", "--json"}},
    {"export", {"--checkpoint", "--ema", "--output", "--safetensors"}},
    {"inspect",
     {"--comm", "--html", "--json", "--memory", "--ops", "--schedule",
      "--sharding"}},
    {"plan",
     {"--calibrate",    "--chakra",      "--cluster",    "--collectives",
      "--device-hours", "--for-cluster", "--html",       "--json",
      "--max-model",    "--parameters",  "--placement",  "--quick",
      "--ranks",        "--search",      "--servers",    "--straggler",
      "--sync",         "--table",       "--time-limit", "--timeline",
      "--tokens"}}};

/// How many letters must be put in, left out, replaced or changed with their
/// neighbours.
size_t distance(const std::string &left, const std::string &right) {
  std::vector<std::vector<size_t>> rows(left.size() + 1,
                                        std::vector<size_t>(right.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  for (size_t i = 1; i <= left.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      bool same = left[i - 1] == right[j - 1];
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                             rows[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] &&
          left[i - 2] == right[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[left.size()][right.size()];
}

} // namespace

std::string findSimilar(const std::string &word,
                        const std::vector<std::string> &known) {
  std::string best;
  // Two letters of a long word, one of a short one.
  size_t least = word.size() > 6 ? 3 : 2;
  for (const std::string &each : known)
    if (size_t found = distance(word, each); found < least) {
      least = found;
      best = each;
    }
  return best;
}

std::string commandsWith(const std::string &option) {
  std::string text;
  for (const CommandOptions &each : kAllOptions)
    if (std::count(each.options.begin(), each.options.end(), option))
      text += strCat(text.empty() ? "" : " and ", "zc ", each.command);
  return text;
}

/// Whether it is a data file, as a shell makes of a pattern without quotes.
static bool isData(const std::string &argument) {
  for (const std::string suffix : {".npz", ".bin", ".npy"})
    if (argument.size() > suffix.size() &&
        argument.compare(argument.size() - suffix.size(), suffix.size(),
                         suffix) == 0)
      return true;
  return false;
}

std::string explainUsage(const std::string &message) {
  const std::string most = ": At Most 1 required but received ";
  const size_t at = message.find(most);
  if (at == std::string::npos)
    return message;
  return message.substr(0, at) + " was given " +
         message.substr(at + most.size()) + " times; give it once";
}

std::string explainUnknown(const std::string &argument,
                           const std::string &command,
                           const std::vector<std::string> &known) {
  const std::string name = argument.substr(0, argument.find('='));
  if (name.empty() || name[0] != '-')
    return "'" + argument + "' is one argument too many for " + command +
           (isData(argument) ? "; data stands behind --data, and a pattern of "
                               "several files in quotes: --data 'part-*.npz'"
                             : "");
  if (std::string owners = commandsWith(name); !owners.empty())
    return "'" + name + "' belongs to " + owners + ", not to " + command;
  std::string text = command + " has no option '" + name + "'";
  if (std::string similar = findSimilar(name, known); !similar.empty())
    text += "; did you mean '" + similar + "'?";
  return text;
}

} // namespace zc
