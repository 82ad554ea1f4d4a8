// Shared by the commands: checks, and the options of both.
#include "runtime/Base/Ending.h"
#include "runtime/Base/Log.h"
#include "runtime/Driver/EvaluationMetrics.h"
#include "tools/zc-run/Commands.h"

#include <charconv>
#include <cstdlib>

namespace zc {

constexpr int kSignalled = 128;

/// A failure that another rank reports is not reported twice.
static int fail(const Status &status) {
  if (status.code() != StatusCode::Cancelled) {
    logError(status.message());
    noteRefusal(status);
  }
  return failureCode();
}

int finish(const Result<int> &result) {
  if (!result.ok())
    return fail(result.status());
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    logError("cannot write to standard output");
    return kExitFailed;
  }
  return *result ? kSignalled + *result : 0;
}

/// A whole number without a sign, from `least` to `most`. The text is looked
/// at, for what no number of 64 bits holds would be clamped.
static std::string checkNumber(const std::string &text, uint64_t most,
                               uint64_t least = 0) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool sound = error == std::errc() && end == text.data() + text.size() &&
               value >= least && value <= most;
  return sound ? ""
               : "expected a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most) + ", found '" + text + "'";
}

std::string checkSeed(const std::string &text) {
  return checkNumber(text, UINT64_MAX);
}

std::string checkSteps(const std::string &text) {
  return checkNumber(text, INT64_MAX);
}

std::string checkPositive(const std::string &text) {
  return checkNumber(text, INT64_MAX, 1);
}

CLI::Validator isWithin(double least, double most) {
  return CLI::Validator(
      [=](const std::string &text) {
        char *end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool sound =
            !text.empty() && *end == '\0' && value >= least && value <= most;
        return sound ? std::string()
                     : strCat("expected a number from ", least, " to ", most,
                              ", found '", text, "'");
      },
      "");
}

void addRankOptions(CLI::App &app, LaunchOptions &options) {
  app.add_option("--local-ranks", options.localRanks,
                 "run all N ranks as threads of this process, without a "
                 "launcher")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->group("Machine");
  app.add_option("--timeout", options.timeout,
                 "seconds that ranks wait for one another")
      ->capture_default_str()
      ->check(isWithin(0.001, 1e9))
      ->type_name("S")
      ->group("Machine");
}

void addMachineOptions(CLI::App &app, int &threads, std::string &folder) {
  app.add_option("--threads", threads,
                 "at most what the artifact was compiled for [all of that]")
      ->check(CLI::Range(1, 4096))
      ->group("Machine");
  app.add_option("--offload-dir", folder,
                 "folder for what the artifact offloads, in a file without a "
                 "name [$TMPDIR, or /var/tmp]")
      ->type_name("DIR")
      ->group("Machine");
}

void addTuneOption(CLI::App &app, std::optional<std::string> &file) {
  app.add_option_function<std::vector<std::string>>(
         "--tune",
         [&](const std::vector<std::string> &texts) {
           file = texts.empty() ? "" : texts.front();
           const std::string ending = ".zca";
           if (file->size() > ending.size() &&
               file->substr(file->size() - ending.size()) == ending)
             throw CLI::ValidationError(
                 "--tune", "takes '" + *file +
                               "' for its FILE; name the "
                               "artifact first, or give --tune FILE");
         },
         "compute each product and convolution in the way that was quickest "
         "when it was measured on this machine, for seconds in all, as FILE "
         "says from then on; checkpoints keep the choice [by rule; FILE: "
         "$XDG_CACHE_HOME/zc/tune.json, or ~/.cache/zc/tune.json]")
      ->expected(0, 1)
      ->type_name("[FILE]")
      ->group("Machine");
}

void checkTune(const CLI::App &app) {
  if (app.count("--sandbox") && app.count("--tune"))
    throw CLI::ValidationError(
        "--tune", "does not go with --sandbox: the tuning file is renamed into "
                  "its folder, which stays shut");
}

void addTokenBitsOption(CLI::App &app, int &bits) {
  app.add_option("--token-bits", bits,
                 "16 or 32: how wide tokens are in .bin files without a header "
                 "[16]")
      ->check(CLI::IsMember({16, 32}))
      ->type_name("BITS")
      ->group("Data");
}

void addMetricsOption(CLI::App &app, std::vector<std::string> &metrics) {
  app.add_option("--metrics", metrics,
                 "metrics of evaluations besides the loss, separated by "
                 "commas: accuracy (always printed where the loss has one), "
                 "top5, perplexity, f1 (the mean over classes), mae, r2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::Validator(
          [](std::string &text) {
            text = CLI::detail::trim(text);
            return std::string();
          },
          ""))
      ->check(CLI::IsMember(metricNames()))
      ->type_name("LIST")
      ->group("Evaluation");
}

} // namespace zc
