#include "runtime/Io/Sampler.h"

#include <cassert>

namespace zc {

/// SplitMix64's finalizer: every bit of the input moves half of the output's.
static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t permute(uint64_t index, uint64_t size, uint64_t key) {
  assert(index < size && "an index of the permutation");
  // A Feistel network permutes the numbers of an even count of bits, whatever
  // its round function; walking on from what is too large leaves a permutation
  // of [0, size), in fewer than four steps on average.
  int half = 1;
  while (half < 32 && (uint64_t(1) << (2 * half)) < size)
    ++half;
  const uint64_t mask = (uint64_t(1) << half) - 1;
  constexpr int kRounds = 8;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (int round = 0; round < kRounds; ++round) {
      uint64_t next = left ^ (mix(key + mix(right * kRounds + round)) & mask);
      left = right;
      right = next;
    }
    index = (left << half) | right;
  } while (index >= size);
  return index;
}

int64_t Sampler::sample(int64_t step, int64_t position) const {
  __int128 flat = __int128(step) * batch + position;
  int64_t epoch = static_cast<int64_t>(flat / samples);
  int64_t within = static_cast<int64_t>(flat % samples);
  if (!shuffle)
    return within;
  uint64_t key = mix(mix(seed) + static_cast<uint64_t>(epoch));
  return static_cast<int64_t>(permute(within, samples, key));
}

Result<int64_t> Sampler::stepsFor(int64_t epochs) const {
  const __int128 total = (__int128(epochs) * samples + batch - 1) / batch;
  if (total > INT64_MAX)
    return makeError(StatusCode::InvalidArgument, "--epochs ", epochs, " of ",
                     samples, " samples are more steps than can be counted");
  return static_cast<int64_t>(total);
}

} // namespace zc
