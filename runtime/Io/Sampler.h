// The samples of a step: a pure function of (seed, epoch, position), so that
// they depend on no rank, no thread and no step before it.
#ifndef ZC_RUNTIME_IO_SAMPLER_H
#define ZC_RUNTIME_IO_SAMPLER_H

#include "runtime/Base/Status.h"

#include <cstdint>

namespace zc {

class Sampler {
public:
  Sampler(int64_t samples, int64_t batch, uint64_t seed, bool shuffle)
      : samples(samples), batch(batch), seed(seed), shuffle(shuffle) {}

  /// The sample at `position` of the step, which counts from 0. Steps take
  /// batches one after another and run on across the end of an epoch.
  int64_t sample(int64_t step, int64_t position) const;

  /// How many steps it takes to see every sample `epochs` times. Fails where
  /// they are more than can be counted.
  Result<int64_t> stepsFor(int64_t epochs) const;

private:
  int64_t samples, batch;
  uint64_t seed;
  bool shuffle;
};

/// The place of `index` in the permutation of [0, size) that `key` names.
uint64_t permute(uint64_t index, uint64_t size, uint64_t key);

} // namespace zc

#endif // ZC_RUNTIME_IO_SAMPLER_H
