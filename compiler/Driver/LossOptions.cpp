#include "compiler/Driver/LossOptions.h"

#include "compiler/Driver/Commands.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace zc;

static constexpr const char *kCrossEntropy = "softmax-cross-entropy";
static constexpr const char *kBinary = "bce-with-logits";

static std::string checkSmoothing(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 1)
    return "";
  return "expected a number from 0 to 1, found " + text;
}

static std::string checkAddedLoss(const std::string &text) {
  auto [name, weight] = llvm::StringRef(text).rsplit('=');
  double value = 0;
  bool sound = !name.empty() && !weight.getAsDouble(value) &&
               std::isfinite(value) && value >= 0;
  return sound ? ""
               : "expected the name of an output, = and a weight of at least "
                 "0, as in balance_loss=0.01; found '" +
                     text + "'";
}

void zc::addLossOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--loss", options.loss,
                  "the loss; required in training mode. huber is quadratic up "
                  "to --huber-delta and linear beyond, l1 the distance")
      ->check(CLI::IsMember(
          {kCrossEntropy, "mse", "l1", "huber", kBinary, "none"}));
  command.add_option(
      "--logits", options.logits,
      "the output the loss is of, or a value inside the model; by "
      "default the first output");
  command.add_option(
      "--loss-output", options.lossOutput,
      "with --loss none, the output or value that is the loss; by "
      "default the first output");
  command
      .add_option("--labels", options.labels, "name of the loss's new input")
      ->check([](const std::string &name) {
        return std::string(name.empty() ? "expected a name" : "");
      });
  command
      .add_option("--class-axis", options.classAxis,
                  "dim of the classes; by default 1, or the last of 3 dims")
      ->check(checkInteger);
  command
      .add_option("--ignore-index", options.ignoreIndex,
                  "labels of this value do not count")
      ->check(checkInteger);
  command
      .add_option("--label-smoothing", options.labelSmoothing,
                  "the share of softmax-cross-entropy's target that is spread "
                  "evenly over the classes")
      ->check(checkSmoothing)
      ->type_name("X");
  command
      .add_option(
          "--class-weights", options.classWeights,
          "a weight for each class, as in PyTorch: with softmax-cross-entropy "
          "the mean divides by the sum of the labels' weights; with "
          "bce-with-logits they are along the last dim")
      ->check(CLI::ExistingFile)
      ->type_name("FILE.npy")
      ->default_str("");
  command
      .add_option("--pos-weight", options.posWeight,
                  "weight of the positive labels' term of bce-with-logits")
      ->check(checkPositive)
      ->type_name("X");
  command
      .add_option(
          "--add-loss", options.addedLosses,
          "add the mean of another output times a number to the loss, such as "
          "a balance loss of experts; evaluations leave it out; repeatable")
      ->check(checkAddedLoss)
      ->type_name("OUTPUT=WEIGHT");
  command
      .add_option("--huber-delta", options.huberDelta,
                  "the distance from which --loss huber is linear")
      ->check(checkPositive)
      ->type_name("X");
}

void zc::checkLossGiven(const CompileOptions &options) {
  bool needsLoss = options.mode == "train" && options.emit > Emit::Train;
  if (needsLoss && options.loss.empty())
    throw CLI::ValidationError(
        "--loss",
        "is required in training mode: softmax-cross-entropy (classes, by "
        "integer labels), mse, l1 or huber (numbers), bce-with-logits (yes or "
        "no), or none where an output of the model is the loss");
}

Result<std::vector<double>> zc::readClassWeights(const std::string &path) {
  constexpr size_t kMost = size_t(1) << 26;
  ZC_ASSIGN_OR_RETURN(std::string bytes, readFile(path, kMost));
  Result<NpyArray> array = parseNpy(bytes, nullptr);
  if (!array.ok())
    return array.status().withContext("--class-weights '" + path + "'");
  auto refuse = [&](const std::string &found) {
    return makeError(StatusCode::InvalidArgument, "--class-weights '", path,
                     "': expected one float32 or float64 of at least 0 for "
                     "each class, found ",
                     found);
  };
  if (array->kind != 'f' || (array->itemSize != 4 && array->itemSize != 8) ||
      array->dims.size() != 1 || array->dims[0] == 0)
    return refuse(array->print());
  std::vector<double> weights;
  for (int64_t i = 0; i < array->dims[0]; ++i) {
    const char *at = array->data.data() + i * array->itemSize;
    float narrow;
    double weight;
    std::memcpy(&narrow, at, sizeof(narrow));
    if (array->itemSize == 8)
      std::memcpy(&weight, at, sizeof(weight));
    else
      weight = narrow;
    if (!(weight >= 0) || weight > 1e30)
      return refuse(std::to_string(weight) + " at " + std::to_string(i));
    weights.push_back(weight);
  }
  if (std::all_of(weights.begin(), weights.end(),
                  [](double weight) { return weight == 0; }))
    return refuse("only zeros");
  return weights;
}
