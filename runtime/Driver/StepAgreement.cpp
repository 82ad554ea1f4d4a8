#include "runtime/Driver/StepAgreement.h"
#include "runtime/Io/RunLog.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zc {
namespace {

// In a maximum over ranks, no number at all.
constexpr int64_t kNothing = INT64_MIN;

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double fromBits(int64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

Metric metricOf(double value) {
  return {float(value), exactDecimal(float(value))};
}

} // namespace

/// The last role has the loss; of the norm and of the gradients' counts each
/// has a part.
std::vector<int64_t> StepAgreement::tell() const {
  std::vector<int64_t> told = {news.stop, news.sentBytes, news.cannotFeed};
  if (roles == 1)
    return told;
  told.push_back(role + 1 == roles ? bitsOf(news.metrics.loss.value)
                                   : kNothing);
  for (int each = 0; each < roles; ++each)
    told.push_back(each == role && news.metrics.norm
                       ? bitsOf(news.metrics.norm->value)
                       : kNothing);
  for (int each = 0; each < roles; ++each)
    for (double count : news.metrics.gradientCounts)
      told.push_back(each == role ? bitsOf(count) : kNothing);
  return told;
}

void StepAgreement::take(const std::vector<int64_t> &told) {
  news.stop = told[0];
  news.sentBytes = told[1];
  news.cannotFeed = told[2];
  if (roles == 1)
    return;
  news.metrics.loss = metricOf(fromBits(told[3]));
  double squares = 0;
  const auto counts = told.begin() + 4 + roles;
  for (auto norm = told.begin() + 4; norm != counts; ++norm)
    if (*norm != kNothing)
      squares += fromBits(*norm) * fromBits(*norm);
  if (news.metrics.norm)
    news.metrics.norm = metricOf(std::sqrt(squares));
  std::vector<double> &sums = news.metrics.gradientCounts;
  std::fill(sums.begin(), sums.end(), 0);
  for (auto count = counts; count != told.end(); ++count)
    sums[size_t(count - counts) % sums.size()] += fromBits(*count);
}

void StepAgreement::begin(StepNews mine, bool beside) {
  news = std::move(mine);
  hasBegun = true;
  auto agree = [this] {
    std::vector<int64_t> told = tell();
    news.status = world.agree(news.status, &told);
    if (news.status.ok())
      take(told);
  };
  if (beside)
    side.start(agree);
  else
    agree();
}

Result<StepNews> StepAgreement::finish() {
  side.wait();
  hasBegun = false;
  ZC_RETURN_IF_ERROR(news.status);
  return std::move(news);
}

} // namespace zc
