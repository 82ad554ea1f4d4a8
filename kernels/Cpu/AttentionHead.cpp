// Attention of one head, forward and backward. All products are calls of one
// register tile; k (and v, backward) are packed transposed in blocks so that
// its right operand is contiguous. Blocks that causality masks are skipped.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/VectorMath.h"
#include "kernels/Cpu/VectorTranspose.h"

namespace zc::kernels::ZC_ISA {
namespace {

constexpr int64_t kBlock = kAttentionBlock;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

//===----------------------------------------------------------------------===//
// Rows of floats
//===----------------------------------------------------------------------===//

inline float dot(const float *a, const float *b, int64_t count) {
  Vector sums = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sums += load(a + i) * load(b + i);
  float sum = sumOf(sums);
  for (; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

inline void addTo(float *to, const float *terms, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(to + i, load(to + i) + load(terms + i));
  for (; i < count; ++i)
    to[i] += terms[i];
}

inline void fill(float *to, int64_t begin, int64_t end, float value) {
  for (int64_t i = begin; i < end; ++i)
    to[i] = value;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Rows with zeros up to `columns`, times `factor`.
void packRows(HeadRows from, int64_t rows, int64_t width, int64_t columns,
              float factor, float *to) {
  for (int64_t r = 0; r < rows; ++r, to += columns) {
    const float *row = from.data + r * from.stride;
    for (int64_t i = 0; i < width; ++i)
      to[i] = row[i] * factor;
    fill(to, width, columns, 0);
  }
}

/// Columns [begin, begin + kLanes) of some rows, each column in a row of
/// kBlock; rows from `count` up to `padded` are zeros.
void transposeColumns(HeadRows from, int64_t count, int64_t padded,
                      int64_t begin, float *to) {
  for (int64_t r = 0; r < padded; r += kLanes) {
    Vector square[kLanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i)
      square[i] = r + i < count
                      ? load(from.data + (r + i) * from.stride + begin)
                      : Vector{};
    transpose(square);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i)
      store(to + (begin + i) * kBlock + r, square[i]);
  }
}

/// Blocks [columns][kBlock] of up to kBlock rows each, zeros behind up to a
/// multiple of 16, as far as products read.
void packTransposed(HeadRows from, int64_t rows, int64_t width, int64_t columns,
                    float *to) {
  for (int64_t begin = 0; begin < rows;
       begin += kBlock, to += columns * kBlock) {
    int64_t count = least(kBlock, rows - begin);
    int64_t padded = attentionRoundUp(count, 16);
    HeadRows part = {from.data + begin * from.stride, from.stride};
    int64_t done = 0;
    for (; done + kLanes <= width; done += kLanes)
      transposeColumns(part, count, padded, done, to);
    for (int64_t i = done; i < columns; ++i)
      for (int64_t r = 0; r < padded; ++r)
        to[i * kBlock + r] =
            i < width && r < count ? part.data[r * part.stride + i] : 0;
  }
}

void unpackRows(const float *from, int64_t columns, int64_t rows, int64_t width,
                float factor, HeadRows to, int64_t first) {
  for (int64_t r = 0; r < rows; ++r, from += columns) {
    float *row = to.data + (first + r) * to.stride;
    for (int64_t i = 0; i < width; ++i)
      row[i] = from[i] * factor;
  }
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The scores of a row from `i` on, those from `valid` on minus infinity:
/// written to memory, the load of all would wait for them.
inline Vector loadScores(const float *row, int64_t i, int64_t valid) {
  if (i + kLanes <= valid)
    return load(row + i);
  IntVector lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes[lane] = lane;
  return lanes < int(valid - i) ? load(row + i) : broadcast(-__builtin_inff());
}

/// Turns the first `valid` scores of a row into exp(score - largest), those up
/// to `padded` into 0. Returns the sum; `padded` is a multiple of 16.
float exponentiateRow(float *row, int64_t valid, int64_t padded,
                      float &largest) {
  Vector most = loadScores(row, 0, valid);
  for (int64_t i = kLanes; i < valid; i += kLanes) {
    Vector value = loadScores(row, i, valid);
    most = value > most ? value : most;
  }
  largest = largestOf(most);
  Vector sum = {};
  for (int64_t i = 0; i < valid; i += kLanes) {
    Vector value = exponential(loadScores(row, i, valid) - largest);
    store(row + i, value);
    sum += value;
  }
  fill(row, valid, padded, 0);
  return sumOf(sum);
}

/// exponentiateRow for a row with a mask: of what is hidden, nothing, and of
/// keys that finite numbers hide, all of them, what these say without scores.
float exponentiateMaskedRow(float *row, const float *mask, int64_t valid,
                            int64_t padded, float &logSumExp) {
  addTo(row, mask, valid);
  float largest, sum = exponentiateRow(row, valid, padded, largest);
  if (hidesAll(largest)) {
    __builtin_memcpy(row, mask, valid * sizeof(float));
    sum = exponentiateRow(row, valid, padded, largest);
    logSumExp = hiddenLog(largest + __builtin_logf(sum));
    return sum;
  }
  if (largest != -__builtin_inff()) {
    logSumExp = largest + __builtin_logf(sum);
    return sum;
  }
  fill(row, 0, padded, 0);
  logSumExp = kNothingSeen;
  return 1;
}

/// Turns a query's scores into powers, up to `padded`. Returns their sum.
float exponentiateQuery(const AttentionHead &head, int64_t query, float *row,
                        int64_t padded) {
  const int64_t valid = countSeen(head, query);
  float logSumExp, sum;
  if (head.mask.data) {
    const float *mask = head.mask.data + query * head.mask.stride;
    sum = exponentiateMaskedRow(row, mask, valid, padded, logSumExp);
  } else {
    float largest;
    sum = exponentiateRow(row, valid, padded, largest);
    logSumExp = largest + __builtin_logf(sum);
  }
  if (head.logSumExp)
    head.logSumExp[query] = logSumExp;
  return sum;
}

void forward(const AttentionHead &head) {
  int64_t columns = attentionRoundUp(head.width, 16);
  int64_t scoreRow = attentionRoundUp(head.keys, kBlock);
  float *k = head.scratch, *v = k + scoreRow * columns;
  float *q = v + scoreRow * columns, *out = q + kBlock * columns;
  float *scores = out + kBlock * columns;
  packTransposed(head.k, head.keys, head.width, columns, k);
  packRows(head.v, head.keys, head.width, columns, 1, v);
  for (int64_t begin = 0; begin < head.queries; begin += kBlock) {
    int64_t count = least(kBlock, head.queries - begin);
    int64_t seen = countSeen(head, begin, count);
    HeadRows rows = {head.q.data + begin * head.q.stride, head.q.stride};
    packRows(rows, count, head.width, columns, head.scale, q);
    for (int64_t j = 0; j < seen; j += kBlock)
      multiply(count, attentionRoundUp(least(kBlock, seen - j), 16), head.width,
               {q, columns, 1}, k + j * columns, kBlock, scores + j, scoreRow,
               false);
    float sums[kBlock];
    for (int64_t r = 0; r < count; ++r)
      sums[r] = exponentiateQuery(head, begin + r, scores + r * scoreRow,
                                  attentionRoundUp(seen, 16));
    multiply(count, columns, seen, {scores, scoreRow, 1}, v, columns, out,
             columns, false);
    for (int64_t r = 0; r < count; ++r)
      unpackRows(out + r * columns, columns, 1, head.width, 1 / sums[r],
                 head.out, begin + r);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// The packed operands and the sums of one head.
struct Backward {
  explicit Backward(const AttentionHead &head)
      : head(head), columns(attentionRoundUp(head.width, 16)) {
    int64_t rows = attentionRoundUp(head.queries, kBlock) * columns;
    int64_t keys = attentionRoundUp(head.keys, kBlock) * columns;
    float *next = head.scratch;
    auto take = [&](int64_t floats) {
      float *taken = next;
      next += floats;
      return taken;
    };
    k = take(keys), kTransposed = take(keys), vTransposed = take(keys);
    q = take(rows), outGrad = take(rows), qGrad = take(rows);
    kGrad = take(kBlock * columns), vGrad = take(kBlock * columns);
    probabilities = take(kBlock * kBlock), scoreGrads = take(kBlock * kBlock);
    delta = take(attentionRoundUp(head.queries, kBlock));
  }

  void pack() {
    packRows(head.k, head.keys, head.width, columns, 1, k);
    packTransposed(head.k, head.keys, head.width, columns, kTransposed);
    packTransposed(head.v, head.keys, head.width, columns, vTransposed);
    packRows(head.q, head.queries, head.width, columns, head.scale, q);
    packRows(head.outGrad, head.queries, head.width, columns, 1, outGrad);
    fill(qGrad, 0, head.queries * columns, 0);
    for (int64_t r = 0; r < head.queries; ++r)
      delta[r] = dot(head.out.data + r * head.out.stride, outGrad + r * columns,
                     head.width);
  }

  /// probabilities = exp(scores - logSumExp), scoreGrads = probabilities *
  /// (their gradients - delta); 0 for keys that are masked or not there.
  void differentiateRows(int64_t query, int64_t count, int64_t key,
                         int64_t width) {
    for (int64_t r = 0; r < count; ++r) {
      float *p = probabilities + r * kBlock, *g = scoreGrads + r * kBlock;
      float sum = head.logSumExp[query + r], shift = delta[query + r];
      if (head.mask.data)
        maskRow(p, query + r, key, sum);
      for (int64_t i = 0; i < width; i += kLanes) {
        Vector value = exponential(load(p + i) - sum);
        store(p + i, value);
        store(g + i, value * (load(g + i) - shift));
      }
      int64_t valid = least(width, countSeen(head, query + r) - key);
      fill(p, valid < 0 ? 0 : valid, width, 0);
      fill(g, valid < 0 ? 0 : valid, width, 0);
    }
  }

  /// Scores of a query and a block of keys with the mask; where it hides all
  /// keys by finite numbers, what it says of them, with the log of its sum.
  void maskRow(float *scores, int64_t query, int64_t key, float &sum) const {
    int64_t keys = least(kBlock, head.keys - key);
    if (sum < kAllHidden)
      sum = takeHidden(head, query, key, keys, scores);
    else
      addTo(scores, head.mask.data + query * head.mask.stride + key, keys);
  }

  void addPair(int64_t query, int64_t key, bool first) {
    int64_t count = least(kBlock, head.queries - query);
    int64_t keys = least(kBlock, head.keys - key);
    int64_t width = attentionRoundUp(keys, 16);
    const float *qRows = q + query * columns;
    const float *gradRows = outGrad + query * columns;
    multiply(count, width, head.width, {qRows, columns, 1},
             kTransposed + key * columns, kBlock, probabilities, kBlock, false);
    multiply(count, width, head.width, {gradRows, columns, 1},
             vTransposed + key * columns, kBlock, scoreGrads, kBlock, false);
    differentiateRows(query, count, key, width);
    multiply(keys, columns, count, {probabilities, 1, kBlock}, gradRows,
             columns, vGrad, columns, !first);
    multiply(keys, columns, count, {scoreGrads, 1, kBlock}, qRows, columns,
             kGrad, columns, !first);
    multiply(count, columns, keys, {scoreGrads, kBlock, 1}, k + key * columns,
             columns, qGrad + query * columns, columns, true);
  }

  void run() {
    pack();
    for (int64_t key = 0; key < head.keys; key += kBlock) {
      int64_t keys = least(kBlock, head.keys - key);
      bool first = true;
      for (int64_t query = 0; query < head.queries; query += kBlock) {
        if (countSeen(head, query, least(kBlock, head.queries - query)) <= key)
          continue;
        addPair(query, key, first);
        first = false;
      }
      if (first) { // keys that no query sees
        fill(kGrad, 0, keys * columns, 0);
        fill(vGrad, 0, keys * columns, 0);
      }
      if (head.kGrad.data)
        unpackRows(kGrad, columns, keys, head.width, 1, head.kGrad, key);
      if (head.vGrad.data)
        unpackRows(vGrad, columns, keys, head.width, 1, head.vGrad, key);
    }
    if (head.qGrad.data)
      unpackRows(qGrad, columns, head.queries, head.width, head.scale,
                 head.qGrad, 0);
  }

  const AttentionHead &head;
  int64_t columns;
  float *k, *kTransposed, *vTransposed, *q, *outGrad, *qGrad, *kGrad, *vGrad;
  float *probabilities, *scoreGrads, *delta;
};

void backward(const AttentionHead &head) { Backward(head).run(); }

} // namespace

AttentionFunctions attentionFunctions() { return {forward, backward}; }

} // namespace zc::kernels::ZC_ISA
