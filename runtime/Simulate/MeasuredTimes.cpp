#include "runtime/Simulate/MeasuredTimes.h"
#include "runtime/Simulate/FormLaw.h"

#include <algorithm>
#include <cmath>

namespace zc {
namespace {

/// The operators of "train.add+mul+...".
std::set<std::string> partsOf(const std::string &operators) {
  std::set<std::string> parts;
  const size_t dot = operators.find('.');
  size_t at = dot == std::string::npos ? 0 : dot + 1;
  while (at <= operators.size()) {
    const size_t end = std::min(operators.find('+', at), operators.size());
    parts.insert(operators.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

double squareOfLog(double ratio) {
  const double log = std::log2(ratio);
  return log * log;
}

/// How alike two sets are: 1 if equal, 0 if they share nothing.
double likeness(const std::set<std::string> &a,
                const std::set<std::string> &b) {
  size_t common = 0;
  for (const std::string &each : a)
    common += b.count(each);
  return double(common) / double(a.size() + b.size() - common);
}

/// Whether two instructions of one kind can be compared by their forms.
bool haveForms(const MeasuredInstruction &a, const MeasuredInstruction &b) {
  return !a.form.empty() && a.form.size() == b.form.size();
}

/// How far two instructions lie apart: doubling the size counts 1, and so does
/// doubling the work for each byte, or a size of its form. Calls of the same
/// form differ only in how many equal parts they have. That changes their rate
/// little.
double apart(const MeasuredInstruction &a, const MeasuredInstruction &b) {
  const double size = squareOfLog((a.bytes + 1) / (b.bytes + 1));
  const double work = squareOfLog((a.flops + 1) / (a.bytes + 1) *
                                  (b.bytes + 1) / (b.flops + 1));
  if (!haveForms(a, b))
    return size + work;
  double form = 0;
  for (size_t i = 0; i < a.form.size(); ++i)
    form += squareOfLog(double(a.form[i]) / double(b.form[i]));
  return a.kind == kKernelKind ? size + work + form / 4 : form + size / 8;
}

/// How many times as large as the other the first one is: by the geometric mean
/// of work and bytes, which may not grow alike.
double larger(const MeasuredInstruction &a, const MeasuredInstruction &b) {
  const double bytes = (a.bytes + 1) / (b.bytes + 1);
  const double work = a.flops > 0 && b.flops > 0 ? a.flops / b.flops : bytes;
  return std::sqrt(bytes * work);
}

/// Rows by how far they are from what is asked for.
using Near = std::vector<std::pair<double, const MeasuredInstruction *>>;

/// The mean of the nearest, in proportion to their sizes.
double secondsByNearest(const MeasuredInstruction &asked, const Near &near) {
  double sum = 0, weights = 0;
  for (auto [distance, row] : near) {
    const double weight = 1 / (distance + 1e-3);
    sum += weight * std::log(row->seconds * larger(asked, *row));
    weights += weight;
  }
  return std::exp(sum / weights);
}

/// By the law of their forms: seconds for each FLOP, or for each byte where not
/// all have any.
double secondsByForms(const MeasuredInstruction &asked, const Near &near) {
  const bool hasWork =
      asked.flops > 0 &&
      std::all_of(near.begin(), near.end(),
                  [](const auto &each) { return each.second->flops > 0; });
  auto workOf = [&](const MeasuredInstruction &row) {
    return hasWork ? row.flops : row.bytes + 1;
  };
  std::vector<FormPoint> points;
  for (auto [distance, row] : near) {
    FormPoint &point = points.emplace_back();
    point.distance = distance;
    point.value = std::log(row->seconds / workOf(*row));
    for (size_t i = 0; i < asked.form.size(); ++i)
      point.sizes.push_back(
          std::log2(double(row->form[i]) / double(asked.form[i])));
  }
  return std::exp(valueOfForm(points)) * workOf(asked);
}

} // namespace

std::string operatorsOfLabel(const std::string &label) {
  return label.substr(0, label.find(' '));
}

void MeasuredTimes::add(const MeasuredInstruction &row) {
  Operators &alike = byKind[row.kind][row.operators];
  alike.parts = partsOf(row.operators);
  alike.rows.push_back(row);
}

std::optional<double>
MeasuredTimes::find(const MeasuredInstruction &asked) const {
  constexpr double kOthers = 16; // as far as one of sixteen times the size
  auto found = byKind.find(asked.kind);
  if (found == byKind.end())
    return std::nullopt;
  Near near;
  auto look = [&](const Operators &alike, double penalty) {
    for (const MeasuredInstruction &row : alike.rows)
      near.push_back({penalty + apart(asked, row), &row});
  };
  if (auto same = found->second.find(asked.operators);
      same != found->second.end()) {
    look(same->second, 0);
  } else {
    const std::set<std::string> parts = partsOf(asked.operators);
    for (const auto &[name, alike] : found->second)
      look(alike, kOthers * (1 - likeness(alike.parts, parts)));
  }
  const bool haveAll =
      asked.kind != kKernelKind &&
      std::all_of(near.begin(), near.end(), [&](const auto &each) {
        return haveForms(asked, *each.second);
      });
  // A law needs more of them than a mean.
  const size_t count = std::min<size_t>(haveAll ? 24 : 3, near.size());
  std::partial_sort(near.begin(), near.begin() + ptrdiff_t(count), near.end());
  near.resize(count);
  return haveAll ? secondsByForms(asked, near) : secondsByNearest(asked, near);
}

} // namespace zc
