// One head of attention, in blocks: what Attention.cpp calls per batch entry
// and head. Compiled once for every instruction set that a build knows.
#ifndef ZC_KERNELS_CPU_ATTENTIONHEAD_H
#define ZC_KERNELS_CPU_ATTENTIONHEAD_H

#include "kernels/Calls/Division/AttentionScratch.h"

#include <cstdint>

namespace zc::kernels {

/// Rows of `width` contiguous elements, `stride` elements apart.
template <typename Element> struct HeadRowsOf {
  Element *data;
  int64_t stride;
};
using HeadRows = HeadRowsOf<float>;

/// In place of a log sum exp: of a query that a mask hides all keys of by minus
/// infinity, and the largest where it does so by finite numbers, in which the
/// scores are lost.
constexpr float kNothingSeen = 3.402823466e38f, kAllHidden = -1e8f;

/// The forward reads q, k, v and writes out and, unless null, logSumExp; the
/// backward reads all of these and outGrad and writes the other gradients
/// unless null. `Element` is float, or uint16_t for bfloat16.
template <typename Element> struct AttentionHeadOf {
  using Rows = HeadRowsOf<Element>;

  int64_t queries, keys, width;
  float scale;
  bool causal; // query i attends keys 0 to i
  Rows q, k, v, out;
  float *logSumExp;
  Rows outGrad, qGrad, kGrad, vGrad;
  float *scratch; // 64-byte aligned, attentionScratchFloats of them
  Rows mask;      // per query and key, added to the scaled scores, or null
  const int64_t *lastKeys; // that each query attends, or null: all
};
using AttentionHead = AttentionHeadOf<float>;
using NarrowAttentionHead = AttentionHeadOf<uint16_t>;

/// How many keys, from the first, a query attends: at least that one.
template <typename Head>
static inline int64_t countSeen(const Head &head, int64_t query) {
  if (!head.causal && !head.lastKeys)
    return head.keys;
  int64_t last = head.causal ? query : head.lastKeys[query];
  if (last < 0)
    return 1;
  return last + 1 < head.keys ? last + 1 : head.keys;
}

/// The most that one of `count` queries attends.
template <typename Head>
static inline int64_t countSeen(const Head &head, int64_t query,
                                int64_t count) {
  int64_t most = countSeen(head, query + count - 1);
  if (head.lastKeys)
    for (int64_t i = 0; i < count; ++i) {
      int64_t seen = countSeen(head, query + i);
      most = seen > most ? seen : most;
    }
  return most;
}

static inline float maskNumber(float number) { return number; }
static inline float maskNumber(uint16_t bits) { // of bfloat16
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float number;
  __builtin_memcpy(&number, &wide, sizeof(number));
  return number;
}

/// Whether the largest of a row's masked scores says that finite numbers hide
/// all of its keys.
static inline bool hidesAll(float largest) {
  return largest < kAllHidden && largest != -__builtin_inff();
}

/// The log sum exp of such a row: below kAllHidden, by which the backward knows
/// it, also where the largest of the mask's numbers is not.
static inline float hiddenLog(float logSumExp) {
  const float most = kAllHidden * 1.0000001f; // the next float
  return logSumExp < most ? logSumExp : most;
}

/// Where finite numbers of a mask hide all keys of a query, scores are lost in
/// them and the mask alone says which keys count: all where it is one number,
/// and else those of the largest. Sets `logs` to logs of what `keys` keys from
/// `key` on count, but for the sum of all keys', and returns the log of that.
template <typename Head>
static inline float takeHidden(const Head &head, int64_t query, int64_t key,
                               int64_t keys, float *logs) {
  const float infinity = __builtin_inff();
  const auto *mask = head.mask.data + query * head.mask.stride;
  const int64_t seen = countSeen(head, query);
  float largest = -infinity, sum = 0;
  for (int64_t i = 0; i < seen; ++i) {
    const float number = maskNumber(mask[i]);
    largest = number > largest ? number : largest;
  }
  const bool counts = largest != -infinity; // or another part's keys do
  for (int64_t i = 0; i < seen && counts; ++i)
    sum += __builtin_expf(maskNumber(mask[i]) - largest);
  for (int64_t i = 0; i < keys; ++i)
    logs[i] = counts ? maskNumber(mask[key + i]) - largest : -infinity;
  return counts ? __builtin_logf(sum) : 0;
}

using AttentionFunction = void (*)(const AttentionHead &);

/// The functions of one instruction set.
struct AttentionFunctions {
  AttentionFunction forward, backward;
};

namespace baseline {
AttentionFunctions attentionFunctions();
}
namespace avx2 {
AttentionFunctions attentionFunctions();
}
namespace avx512 {
AttentionFunctions attentionFunctions();
}

// In bfloat16 with float32 sums.
namespace amx {
void attentionForward(const NarrowAttentionHead &head);
void attentionBackward(const NarrowAttentionHead &head);
} // namespace amx

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_ATTENTIONHEAD_H
