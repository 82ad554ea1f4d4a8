#include "compiler/Driver/Float8Options.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/MeshOptions.h"
#include "dialects/Train/Float8Ops.h"
#include "passes/Precision/Float8Step.h"
#include "runtime/Plan/Axes.h"

#include "llvm/ADT/StringRef.h"

using namespace zc;

std::optional<Float8Scaling> zc::parseFloat8Scaling(const std::string &text) {
  Float8Scaling scaling;
  llvm::StringRef rest = text;
  scaling.kind = rest.take_until([](char c) { return c == ':'; }).str();
  rest = rest.drop_front(scaling.kind.size());
  const bool isDelayed = scaling.kind == "delayed";
  if (!isDelayed && scaling.kind != "current" && scaling.kind != "block")
    return std::nullopt;
  constexpr int64_t kMostSteps = 1 << 20;
  if (rest.empty())
    return scaling;
  const bool isNumber = isDelayed && rest.consume_front(":") &&
                        !rest.getAsInteger(10, scaling.history) &&
                        scaling.history >= 1 && scaling.history <= kMostSteps;
  return isNumber ? std::optional(scaling) : std::nullopt;
}

bool zc::scalesByHistory(const CompileOptions &options) {
  const auto scaling = parseFloat8Scaling(options.float8Scaling);
  return options.precision == "fp8" && scaling && scaling->kind == "delayed";
}

static std::string checkScaling(const std::string &text) {
  if (parseFloat8Scaling(text))
    return "";
  return "expected current, delayed, delayed:STEPS (1 to 1048576) or block, "
         "found '" +
         text + "'";
}

void zc::addFloat8Options(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--fp8-scaling", options.float8Scaling,
          "with --precision fp8, what scales are of: the whole tensor as it is "
          "(current); the largest magnitude of 1024 steps before, or of so "
          "many (delayed:STEPS), which checkpoints hold, and a scale of 1 "
          "before the first step; or blocks (block): a scale, a power of two, "
          "for 128 elements along the sum, of weights for 128 x 128, and "
          "gradients of E4M3 too. GPUs multiply blocks with --target "
          "cuda:sm_90 alone")
      ->check(checkScaling)
      ->type_name("current|delayed[:STEPS]|block");
  command
      .add_option("--fp8-exclude", options.float8Exclude,
                  "weights, by name, whose products stay in bf16 with "
                  "--precision fp8")
      ->check(checkRegex)
      ->type_name("REGEX");
}

std::optional<PassOptions::Float8>
zc::getFloat8Options(const CompileOptions &options) {
  if (options.precision != "fp8")
    return std::nullopt;
  const Float8Scaling scaling =
      parseFloat8Scaling(options.float8Scaling).value_or(Float8Scaling());
  PassOptions::Float8 float8;
  float8.apply.exclude = options.float8Exclude;
  float8.apply.mayMiss = options.float8MayMiss;
  float8.apply.divisor = getFloat8Divisor(options);
  if (scaling.kind == "block") { // ranks have whole ones
    float8.apply.rowDivisor = float8.apply.divisor *
                              countSampleShares(options) *
                              options.getAxisSize(axes::kToken);
    float8.apply.dividesParts = true;
  }
  float8.round.scaling = scaling.kind;
  float8.round.history = scaling.history;
  return float8;
}

int64_t zc::getFloat8Divisor(const CompileOptions &options) {
  if (options.precision != "fp8")
    return 1;
  return options.float8Scaling == "block" ? train::kFloat8Block : kFloat8Step;
}
