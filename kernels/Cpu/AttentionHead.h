// One head of attention, in blocks: what Attention.cpp calls per batch entry
// and head. Compiled once for every instruction set that a build knows.
#ifndef ZC_KERNELS_CPU_ATTENTIONHEAD_H
#define ZC_KERNELS_CPU_ATTENTIONHEAD_H

#include <cstdint>

namespace zc::kernels {

/// Queries and keys are handled in blocks of so many.
constexpr int64_t kAttentionBlock = 64;

/// Rows of `width` contiguous floats, `stride` floats apart.
struct HeadRows {
  float *data;
  int64_t stride;
};

/// In place of a log sum exp: of a query that a mask hides all keys of by minus
/// infinity, and the largest where it does so by finite numbers, in which the
/// scores are lost: then all keys count alike.
constexpr float kNothingSeen = 3.402823466e38f, kAllHidden = -1e8f;

/// The forward reads q, k, v and writes out and, unless null, logSumExp; the
/// backward reads all of these and outGrad and writes the other gradients
/// unless null.
struct AttentionHead {
  int64_t queries, keys, width;
  float scale;
  bool causal; // query i attends keys 0 to i
  HeadRows q, k, v, out;
  float *logSumExp;
  HeadRows outGrad, qGrad, kGrad, vGrad;
  float *scratch; // 64-byte aligned, attentionScratchFloats of them
  HeadRows mask;  // per query and key, added to the scaled scores, or null
  const int64_t *lastKeys; // that each query attends, or null: all
};

// Static: a shared copy could be that of an instruction set that is not there.
static inline int64_t attentionRoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Floats of scratch memory that one head needs.
static inline int64_t attentionScratchFloats(int64_t queries, int64_t keys,
                                             int64_t width, bool backward) {
  int64_t block = kAttentionBlock, columns = attentionRoundUp(width, 16);
  int64_t rows = attentionRoundUp(queries, block);
  int64_t packedKeys = attentionRoundUp(keys, block);
  if (!backward) // k, v; a block of queries, its scores and its result
    return 2 * packedKeys * columns + block * (packedKeys + 2 * columns);
  // k, k and v transposed; q, outGrad, qGrad; kGrad and vGrad of a block;
  // probabilities and their gradients of a pair of blocks; delta
  return 3 * (packedKeys + rows) * columns + 2 * block * (columns + block) +
         rows;
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

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_ATTENTIONHEAD_H
