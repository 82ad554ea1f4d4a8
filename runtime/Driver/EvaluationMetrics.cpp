#include "runtime/Driver/EvaluationMetrics.h"
#include "runtime/Driver/SampleMetrics.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cmath>

namespace zc {

namespace {

constexpr const char *kCrossEntropy = "softmax-cross-entropy";
constexpr const char *kBinary = "bce-with-logits";

/// The losses that a metric is one of.
std::vector<std::string> lossesOf(const std::string &metric) {
  if (metric == "top5" || metric == "perplexity")
    return {kCrossEntropy};
  if (metric == "accuracy" || metric == "f1")
    return {kCrossEntropy, kBinary};
  return {"mse", "huber", "l1"};
}

std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

const std::string *findSetting(const plan::Manifest &manifest,
                               const std::string &name) {
  for (const plan::Setting &setting : manifest.settings())
    if (setting.name() == name)
      return &setting.value();
  return nullptr;
}

/// The model's output that the loss is of: the first, or --logits.
const plan::Output *findOutput(const plan::Manifest &manifest,
                               const plan::Program &program) {
  const std::string *name = findSetting(manifest, "logits");
  for (const plan::Output &output : program.outputs())
    if (output.kind() == plan::OUTPUT && (!name || output.name() == *name))
      return &output;
  return nullptr;
}

/// Whether the loss is computed there: of several roles, one has it and the
/// output that it is of.
bool takesLabels(const plan::Program &program) {
  return std::any_of(program.inputs().begin(), program.inputs().end(),
                     [](const plan::Input &input) { return input.is_label(); });
}

/// The compiler's choice: 1, or the last of 3 dims, or --class-axis.
int64_t findClassAxis(const plan::Manifest &manifest, int64_t dims) {
  const std::string *given = findSetting(manifest, "class-axis");
  int64_t axis =
      given ? std::strtoll(given->c_str(), nullptr, 10) : (dims == 3 ? 2 : 1);
  return axis < 0 ? axis + dims : axis;
}

} // namespace

const std::vector<std::string> &metricNames() {
  static const std::vector<std::string> names = {
      "accuracy", "top5", "perplexity", "f1", "mae", "r2"};
  return names;
}

bool isLowerBetter(const std::string &metric) {
  return metric == "loss" || metric == "perplexity" || metric == "mae";
}

bool EvaluationMetrics::wants(const std::string &name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<EvaluationMetrics>
EvaluationMetrics::create(const Artifact &artifact,
                          const std::vector<std::string> &names,
                          const Mesh &mesh, int64_t rank) {
  const plan::Manifest &manifest = artifact.manifest();
  EvaluationMetrics result;
  result.loss = manifest.loss();
  result.names = names;
  for (const std::string &name : names) {
    std::vector<std::string> losses = lossesOf(name);
    if (std::find(losses.begin(), losses.end(), manifest.loss()) ==
        losses.end())
      return makeError(StatusCode::InvalidArgument, "--metrics: '", name,
                       "' is a metric of models with --loss ", join(losses),
                       "; '", artifact.path(), "' has ", manifest.loss());
  }
  const bool needsOutput =
      std::any_of(names.begin(), names.end(), [](const std::string &name) {
        return name != "accuracy" && name != "perplexity";
      });
  if (needsOutput)
    ZC_RETURN_IF_ERROR(result.takeOutput(artifact, mesh, rank));
  result.clear();
  return result;
}

Status EvaluationMetrics::takeOutput(const Artifact &artifact, const Mesh &mesh,
                                     int64_t rank) {
  const plan::Manifest &manifest = artifact.manifest();
  int holder = 0;
  for (const auto &[role, each] : evaluationOf(artifact))
    if (!output && (manifest.roles_size() == 1 || takesLabels(*each))) {
      holder = role;
      program = each;
      output = findOutput(manifest, *each);
    }
  if (!output)
    return makeError(StatusCode::InvalidArgument, "--metrics: '",
                     artifact.path(), "' does not keep the loss's output");
  const plan::TensorType &type = program->buffers(int(output->buffer())).type();
  classAxis = findClassAxis(manifest, type.dims_size());
  OutputParts parts(*output, type, mesh, holder);
  sharers = parts.ranks();
  const std::vector<int64_t> &dims = parts.wholeDims();
  numColumns = 1;
  for (int i = 0; i < int(dims.size()); ++i)
    numColumns *= i == output->batch_dim() ? 1 : dims[size_t(i)];
  Result<MatchedLabels> matched =
      MatchedLabels::create(*program, parts, parts.placeOf(mesh, rank),
                            loss == kCrossEntropy ? int(classAxis) : -1);
  if (!matched.ok())
    return makeError(StatusCode::InvalidArgument, "--metrics: '",
                     artifact.path(), "': ", matched.status().message());
  labels = std::move(*matched);
  part.assign(*byteCount(type), '\0');
  return Status();
}

void EvaluationMetrics::clear() {
  metrics.clear();
  if (part.empty())
    return;
  const plan::TensorType &type = program->buffers(int(output->buffer())).type();
  for (const std::string &name : names) {
    std::unique_ptr<SampleMetric> metric;
    if (name == "top5")
      metric = makeTopFive();
    else if (name == "f1")
      metric = loss == kBinary ? makeBinaryF1(numColumns)
                               : makeClassF1(type.dims(int(classAxis)));
    else if (name == "mae")
      metric = makeMeanAbsoluteError();
    else if (name == "r2")
      metric = makeR2(numColumns);
    if (metric)
      metrics.emplace_back(name, std::move(metric));
  }
}

Status EvaluationMetrics::add(Executor &executor, const plan::Call &call,
                              const std::optional<BatchFeed::Labels> &fed) {
  if (metrics.empty())
    return Status();
  ZC_RETURN_IF_ERROR(executor.read(*program, output->buffer(), part.data(),
                                   slotsOf(*program, call.slots())));
  if (!fed)
    return makeError(StatusCode::Internal, "the evaluation has no labels");
  const plan::TensorType &type = program->buffers(int(output->buffer())).type();
  SampleMetric::Batch batch = {type,
                               part.data(),
                               labels.type(),
                               labels.of(fed->data),
                               fed->input->batch_dim(),
                               fed->samples,
                               classAxis,
                               fed->input->range(),
                               labels.columns()};
  for (auto &[name, metric] : metrics)
    metric->add(batch);
  return Status();
}

Result<std::vector<std::pair<std::string, double>>>
EvaluationMetrics::finish(World &world, double meanLoss) {
  std::vector<std::pair<std::string, double>> values;
  for (const std::string &name : names) {
    if (name == "perplexity")
      values.emplace_back(name, std::exp(meanLoss));
    for (auto &[each, metric] : metrics) {
      if (each != name)
        continue;
      std::vector<double> mine = metric->found();
      std::vector<double> all(mine.size() * size_t(world.size()));
      ZC_RETURN_IF_ERROR(world.all().allGather(mine.data(), all.data(),
                                               mine.size() * sizeof(double)));
      std::vector<std::vector<double>> ranks;
      for (int sharer : sharers) {
        auto begin = all.begin() + int64_t(mine.size()) * sharer;
        ranks.emplace_back(begin, begin + int64_t(mine.size()));
      }
      values.emplace_back(name, metric->value(ranks));
    }
  }
  return values;
}

} // namespace zc
