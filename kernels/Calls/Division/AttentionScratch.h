// The scratch memory of one head of attention. Links nothing: the compiler
// plans with it.
#ifndef ZC_KERNELS_CALLS_DIVISION_ATTENTIONSCRATCH_H
#define ZC_KERNELS_CALLS_DIVISION_ATTENTIONSCRATCH_H

#include <cstdint>

namespace zc::kernels {

/// Queries and keys are handled in blocks of so many.
constexpr int64_t kAttentionBlock = 64;

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

/// Floats of scratch memory that a head in bfloat16 needs with AMX: packed
/// factors, and of a block of queries the scores of all keys.
static inline int64_t narrowScratchFloats(int64_t keys, int64_t width,
                                          bool backward) {
  int64_t block = kAttentionBlock, columns = attentionRoundUp(width, 32);
  int64_t rows = attentionRoundUp(keys, 32);
  if (!backward) // k, v; of a block q, scores, probabilities, the result
    return rows * columns + block * columns / 2 + 3 * block * rows / 2 +
           block * columns;
  // k, v, k by depth; of a block q and outGrad twice each; scores and their
  // gradients, both in bfloat16 too, one packed; the gradients of k, v and q
  return 3 * rows * columns / 2 + 2 * block * columns + 2 * block * rows +
         block * rows + block * rows / 2 + 2 * rows * columns + block * columns;
}

/// Floats that a head in bfloat16 needs where it is computed in float32: rows
/// of all operands and of a mask, and what attention in float32 needs.
static inline int64_t widenedScratchFloats(int64_t queries, int64_t keys,
                                           int64_t width, bool masked,
                                           bool backward) {
  int64_t all = (backward ? 4 : 2) * (queries + keys) * width;
  return attentionRoundUp(all + (masked ? queries * keys : 0), 16) +
         attentionScratchFloats(queries, keys, width, backward);
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_ATTENTIONSCRATCH_H
