#include "compiler/Driver/MemoryOptions.h"

#include "compiler/Driver/Float8Options.h"
#include "passes/Memory/KeptEncoder.h"
#include "passes/Memory/MarkOffload.h"

#include "llvm/ADT/StringRef.h"

using namespace zc;

std::optional<int64_t> zc::parseSize(llvm::StringRef text) {
  static const std::pair<const char *, double> units[] = {
      {"KiB", 1024.0},
      {"MiB", 1024.0 * 1024},
      {"GiB", 1024.0 * 1024 * 1024},
      {"TiB", 1024.0 * 1024 * 1024 * 1024},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"B", 1.0}};
  double scale = 1;
  for (auto [unit, size] : units)
    if (text.ends_with_insensitive(unit)) {
      text = text.drop_back(llvm::StringRef(unit).size()).rtrim();
      scale = size;
      break;
    }
  double number;
  if (text.getAsDouble(number) || !(number > 0) || number * scale > 1e18)
    return std::nullopt;
  return static_cast<int64_t>(number * scale);
}

static std::string checkSize(const std::string &text) {
  return parseSize(text)
             ? ""
             : "expected a size such as 16GiB, 800MiB or a number of "
               "bytes, found '" +
                   text + "'";
}

static std::string checkOffload(const std::string &text) {
  return text == "none" || (!text.empty() && parseOffload(text))
             ? ""
             : "expected none, or a list of optimizer, update, parameters, "
               "activations, separated by commas, found '" +
                   text + "'";
}

static std::string checkEncodings(const std::string &text) {
  std::string error;
  return parseEncodings(text, error) ? "" : error;
}

static void addKeptOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option(
          "--compress-activations", options.compressActivations,
          "store saved activations in fewer bytes where that lowers the peak: "
          "a list, separated by commas, of bits (one bit an element where the "
          "backward reads only the sign); sparse or sparse=DENSITY (the result "
          "of a ReLU that a convolution or matmul reads is stored without its "
          "zeros; there is room for this share of its elements, 0.6, and a run "
          "with more ends); bf16 or fp16 (float32 in 16 bits, fp16 at most "
          "+-65504: losses of equal weights stay the same, gradients are "
          "rounded); fp8 (floats of 32 and 16 bits in 8: E4M3, at most +-448, "
          "of which the backward makes sums and products or asks the sign; "
          "with bf16 or fp16 besides, others have 16 bits); or none")
      ->check(checkEncodings)
      ->type_name("LIST");
  command.add_flag("--partition-activations", options.partitionActivations,
                   "shard along tp the saved activations that all its ranks "
                   "would keep, where that lowers the peak; they are gathered "
                   "before the backward reads them");
}

/// Below 1, gradients are lost that fp16 holds unscaled; beyond the other,
/// gradients of 1e-5 overflow.
static std::string checkLossScale(const std::string &text) {
  constexpr double kLeast = 1, kMost = 4294967296;
  double value = 0;
  if (text == "dynamic" || (CLI::detail::lexical_cast(text, value) &&
                            value >= kLeast && value <= kMost))
    return "";
  return "expected dynamic or a number from 1 to 4294967296 (2^32), found '" +
         text + "'";
}

void zc::addMemoryOptions(CLI::App &command, CompileArguments &arguments) {
  command
      .add_option(
          "--precision", arguments.options.precision,
          "the type of a step's weights, activations and gradients; with bf16 "
          "and fp16 the optimizer updates float32 weights, which checkpoints "
          "and exports hold. fp16 scales the loss, skips steps whose gradients "
          "overflow, and is multiplied as float32 on CPUs. fp8 is bf16 but "
          "for products of values and weights and their gradients': factors "
          "are scaled by their largest magnitude and rounded to 8-bit floats, "
          "E4M3 for values and weights, E5M2 for gradients; the last layer "
          "stays in bf16. GPUs from sm_90 on multiply them so, CPUs the same "
          "numbers as bf16")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "fp8"}));
  addFloat8Options(command, arguments.options);
  command
      .add_option("--reduce-precision", arguments.options.reducePrecision,
                  "the type in which ranks reduce gradients")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  command
      .add_option("--moment-precision", arguments.options.momentPrecision,
                  "what Adam's first moments, or momentum, are stored in; they "
                  "are updated in float32")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  command
      .add_option("--weight-copies", arguments.options.weightCopies,
                  "with 16 bits, whether rounded weights are kept from step to "
                  "step, or each is rounded in front of what reads it")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_flag("--gradient-histogram", arguments.options.gradientHistogram,
                   "each step counts how large elements of gradients are, for "
                   "zc run --log and --tensorboard: which share would be lost "
                   "in fp16");
  command
      .add_option(
          "--loss-scale", arguments.options.lossScale,
          "with fp16, what the loss is scaled by: a number, or dynamic: "
          "less after a step whose gradients overflow, more after 2000 "
          "without one")
      ->check(checkLossScale)
      ->type_name("dynamic|X");
  command
      .add_option("--recompute", arguments.options.recompute,
                  "activations that the backward computes again: all but those "
                  "between layers (layer), or between sqrt(layers) segments "
                  "(sqrt); all but the results of library calls (selective); "
                  "or those that need least memory (full). By default none, "
                  "unless --memory-budget asks for some")
      ->check(CLI::IsMember({"none", "layer", "sqrt", "selective", "full"}))
      ->default_str("");
  command
      .add_option("--offload", arguments.options.offload,
                  "tensors that lie in a file (zc run --offload-dir), with "
                  "--target cuda in the host's memory, while nothing needs "
                  "them; copies beside the computation bring them and take "
                  "them away: a list, separated by commas, of optimizer "
                  "(moments, and the float32 weights behind 16-bit ones), "
                  "update (those, and the host's processor computes their new "
                  "values: gradients of 16 bits go there, weights of 16 bits "
                  "come back), parameters, activations (those that the "
                  "backward needs); or "
                  "none. By default none, unless --memory-budget asks for some")
      ->check(checkOffload)
      ->type_name("LIST");
  addKeptOptions(command, arguments.options);
  command
      .add_option("--memory-budget", arguments.memoryBudget,
                  "the most memory a rank may plan, as 16GiB, 800MiB or bytes; "
                  "without --recompute, zc takes the quickest plan that fits, "
                  "and without --offload it may keep values in a file or in "
                  "the host's memory")
      ->check(checkSize)
      ->type_name("SIZE")
      ->default_str("");
}
