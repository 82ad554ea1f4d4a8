// A pipeline of tiny roles, one behind the other, and how a rank trains it: for
// tests of orders that are really run.
#ifndef ZC_TEST_UNIT_RUNTIME_EXEC_CHAIN_H
#define ZC_TEST_UNIT_RUNTIME_EXEC_CHAIN_H

#include "runtime/Comm/World.h"
#include "runtime/Exec/OrderRunner.h"
#include "runtime/Plan/Artifact.h"

#include <string>
#include <vector>

namespace zc::test {

/// A role computes y = w x forward, dx = w dy and acc += x . dy backward; the
/// last one takes y for dy. Then w += rate acc. Writes the artifact to `path`.
Status writeChain(const std::string &path, uint32_t roles,
                  uint32_t microBatches, const std::string &schedule);

/// A rank's results: each step's loss, and its weight in the end.
using Found = std::vector<float>;

/// Three steps of this rank; `callbacks` are called too, but for feed.
Status runChain(const Artifact &artifact, World &world,
                const OrderCallbacks &callbacks, Found &found);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_EXEC_CHAIN_H
