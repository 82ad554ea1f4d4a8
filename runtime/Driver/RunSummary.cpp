#include "runtime/Driver/RunSummary.h"
#include "runtime/Driver/Progress.h"

#include <algorithm>
#include <numeric>

namespace zc {

// A tenth of the run says how it began and how it ends.
static constexpr int64_t kShare = 10, kMostSteps = 1000;

RunSummary::RunSummary(int64_t steps)
    : span(size_t(std::clamp<int64_t>(steps / kShare, 1, kMostSteps))) {}

void RunSummary::add(double loss) {
  if (count++ < span)
    first += loss;
  last.push_back(loss);
  if (last.size() > span)
    last.pop_front();
}

void RunSummary::add(const EvaluationRecord &record) {
  if (!before)
    before = record;
  after = record;
}

std::string RunSummary::print() const {
  if (last.empty())
    return "";
  double end = std::accumulate(last.begin(), last.end(), 0.0);
  std::string text = "loss " +
                     printFigure(first / double(std::min(count, span))) +
                     " -> " + printFigure(end / double(last.size()));
  if (last.size() > 1)
    text += strCat(" (means of ", last.size(), " steps)");
  if (!after)
    return text;
  if (before->step != after->step)
    text += strCat(", eval loss ", printFigure(before->loss), " -> ",
                   printFigure(after->loss));
  else
    text += strCat(", eval loss ", printFigure(after->loss));
  if (after->accuracy)
    text += ", eval accuracy " + printFigure(*after->accuracy);
  for (const auto &[name, value] : after->metrics)
    text += strCat(", eval ", name, " ", printFigure(value));
  return text;
}

std::string printEvaluation(const EvaluationRecord &record,
                            const std::string &prefix) {
  std::string text = strCat(prefix, "loss ", printFigure(record.loss));
  if (record.accuracy)
    text += strCat(", ", prefix, "accuracy ", printFigure(*record.accuracy));
  for (const auto &[name, value] : record.metrics)
    text += strCat(", ", prefix, name, " ", printFigure(value));
  return text;
}

std::optional<double> valueOf(const EvaluationRecord &record,
                              const std::string &metric) {
  if (metric == "loss")
    return record.loss;
  if (metric == "accuracy")
    return record.accuracy;
  for (const auto &[name, value] : record.metrics)
    if (name == metric)
      return value;
  return std::nullopt;
}

} // namespace zc
