#include "runtime/Simulate/MeasuredTimes.h"

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

} // namespace

std::string operatorsOfLabel(const std::string &label) {
  return label.substr(0, label.find(' '));
}

void MeasuredTimes::add(const MeasuredInstruction &row) {
  Operators &alike = byKind[row.kind][row.operators];
  alike.parts = partsOf(row.operators);
  alike.rows.push_back({row.flops, row.bytes, row.seconds});
}

std::optional<double> MeasuredTimes::find(const std::string &kind,
                                          const std::string &operators,
                                          double flops, double bytes) const {
  constexpr size_t kNeighbours = 3;
  constexpr double kOthers = 16; // as far as one of sixteen times the size
  auto found = byKind.find(kind);
  if (found == byKind.end())
    return std::nullopt;
  // Distances: doubling the size counts 1, and so does doubling the work for
  // each byte.
  std::vector<std::pair<double, const Row *>> near;
  auto look = [&](const Operators &alike, double penalty) {
    for (const Row &row : alike.rows)
      near.push_back({penalty + squareOfLog((bytes + 1) / (row.bytes + 1)) +
                          squareOfLog((flops + 1) / (bytes + 1) *
                                      (row.bytes + 1) / (row.flops + 1)),
                      &row});
  };
  if (auto same = found->second.find(operators); same != found->second.end()) {
    look(same->second, 0);
  } else {
    const std::set<std::string> parts = partsOf(operators);
    for (const auto &[name, alike] : found->second)
      look(alike, kOthers * (1 - likeness(alike.parts, parts)));
  }
  const size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + ptrdiff_t(count), near.end());
  double sum = 0, weights = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto [apart, row] = near[i];
    // In the proportion of the sizes; where work and bytes do not grow alike,
    // of their geometric mean.
    const double larger = (bytes + 1) / (row->bytes + 1);
    const double harder =
        row->flops > 0 && flops > 0 ? flops / row->flops : larger;
    const double weight = 1 / (apart + 1e-3);
    sum += weight * std::log(row->seconds * std::sqrt(larger * harder));
    weights += weight;
  }
  return std::exp(sum / weights);
}

} // namespace zc
