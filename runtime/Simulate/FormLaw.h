// How long a call takes by the times of others whose forms have other sizes.
#ifndef ZC_RUNTIME_SIMULATE_FORMLAW_H
#define ZC_RUNTIME_SIMULATE_FORMLAW_H

#include <vector>

namespace zc {

/// A call that was timed, as the one that is asked for sees it.
struct FormPoint {
  double distance = 0;       // 0: alike in all
  std::vector<double> sizes; // of its form, log2 of how many times as large
  double value = 0;          // log of its seconds for each part of its work
};

/// The value of the asked call: least squares of a plane through the points
/// over the logarithms of their sizes, in which near points count more. A size
/// along which few points differ hardly tilts it (ridge regression; Hoerl and
/// Kennard 1970). It stays within a factor of 2 of what the points have. At
/// least one point; all have as many sizes.
double valueOfForm(const std::vector<FormPoint> &points);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_FORMLAW_H
