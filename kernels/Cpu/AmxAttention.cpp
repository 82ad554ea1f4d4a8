// Attention of one head in bfloat16 by the tile registers of AMX, with float32
// sums and float32 between the products. A block of queries meets all keys that
// it attends at once.
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/MatmulTiles.h"
#include "kernels/Cpu/VectorMath.h"

#include <immintrin.h>

namespace zc::kernels::amx {
namespace {

constexpr int64_t kBlock = kAttentionBlock;
constexpr int64_t kTile = 32;            // rows and columns of four registers
constexpr int64_t kBlockBytes = 16 * 64; // of 16 lines by 32 of their depth

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t padded(int64_t count) { return attentionRoundUp(count, kTile); }

//===----------------------------------------------------------------------===//
// Numbers of 16 bits
//===----------------------------------------------------------------------===//

inline __mmask16 maskOf(int64_t present) {
  return present >= kLanes ? 0xffff : (1u << present) - 1;
}

/// Some numbers as float32, zeros behind them.
inline __m512 widen(const uint16_t *from, int64_t present) {
  __m256i bits = _mm256_maskz_loadu_epi16(maskOf(present), from);
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

inline __m256i narrow(__m512 value) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
}

float dot(const uint16_t *a, const uint16_t *b, int64_t count) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; i += kLanes)
    sum =
        _mm512_fmadd_ps(widen(a + i, count - i), widen(b + i, count - i), sum);
  return sumOf(sum);
}

/// Rows of float32 times a factor each, or one for all.
void writeRow(const float *from, int64_t width, float factor, uint16_t *to) {
  __m512 all = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < width; i += kLanes)
    _mm256_mask_storeu_epi16(to + i, maskOf(width - i),
                             narrow(_mm512_loadu_ps(from + i) * all));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// All eight registers: 16 rows of 64 bytes.
struct alignas(64) Palette {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Lines in panels of 16; of a panel each block of 32 of the depth lies
/// together. Lines and depth are padded with zeros to multiples of 32.
struct Panels {
  char *data;
  int64_t blocks; // of the depth

  char *at(int64_t line, int64_t block) const {
    return data + (line / 16 * blocks + block) * kBlockBytes;
  }
};

/// c [rows, columns] = or += a b, of which so many blocks of the depth; rows
/// and columns are multiples of 32.
void multiply(const Panels &a, const Panels &b, int64_t blocks, int64_t rows,
              int64_t columns, float *c, int64_t cRow, bool accumulate) {
  const int64_t stride = 4 * cRow;
  // The compiler does not know that tiles are loaded from what was just packed.
  asm volatile("" ::: "memory");
  for (int64_t column = 0; column < columns; column += kTile)
    for (int64_t row = 0; row < rows; row += kTile) {
      float *to = c + row * cRow + column;
      if (accumulate) {
        _tile_loadd(0, to, stride);
        _tile_loadd(1, to + 16, stride);
        _tile_loadd(2, to + 16 * cRow, stride);
        _tile_loadd(3, to + 16 * cRow + 16, stride);
      } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      }
      for (int64_t block = 0; block < blocks; ++block) {
        _tile_loadd(4, a.at(row, block), 64);
        _tile_loadd(6, b.at(column, block), 64);
        _tile_loadd(5, a.at(row + 16, block), 64);
        _tile_loadd(7, b.at(column + 16, block), 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      _tile_stored(0, to, stride);
      _tile_stored(1, to + 16, stride);
      _tile_stored(2, to + 16 * cRow, stride);
      _tile_stored(3, to + 16 * cRow + 16, stride);
    }
}

/// One head's operands and scratch memory, which forward and backward share.
struct Head {
  explicit Head(const NarrowAttentionHead &head)
      : head(head), pack(matmulTileFunctions()), columns(padded(head.width)),
        keys(padded(head.keys)), next(reinterpret_cast<char *>(head.scratch)) {
    static const Palette palette;
    _tile_loadconfig(&palette);
  }
  ~Head() { _tile_release(); }

  /// Room for lines of some depth, both multiples of 32.
  Panels takePanels(int64_t lines, int64_t depth) {
    return {take<char>(2 * lines * depth), depth / 32};
  }
  template <typename Element> Element *take(int64_t count) {
    auto *taken = reinterpret_cast<Element *>(next);
    next += count * sizeof(Element);
    return taken;
  }

  /// Rows of the head as lines of their own elements, or its columns as lines.
  static MatmulLines rowsOf(const HeadRowsOf<uint16_t> &rows, int64_t first) {
    return {rows.data + first * rows.stride, rows.stride, 1};
  }
  static MatmulLines columnsOf(const HeadRowsOf<uint16_t> &rows,
                               int64_t first) {
    return {rows.data + first * rows.stride, 1, rows.stride};
  }

  /// Scales a query's first `valid` scores and adds the mask to them.
  void scaleRow(float *row, int64_t query, int64_t valid) const {
    __m512 scale = _mm512_set1_ps(head.scale);
    const uint16_t *mask =
        head.mask.data ? head.mask.data + query * head.mask.stride : nullptr;
    for (int64_t i = 0; i < valid; i += kLanes) {
      __m512 value = _mm512_loadu_ps(row + i) * scale;
      if (mask)
        value += widen(mask + i, valid - i);
      _mm512_storeu_ps(row + i, value);
    }
  }

  const NarrowAttentionHead &head;
  MatmulTileFunctions pack;
  const int64_t columns, keys; // padded
  char *next;
};

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

struct Forward : Head {
  explicit Forward(const NarrowAttentionHead &head)
      : Head(head), k(takePanels(keys, columns)), v(takePanels(columns, keys)),
        q(takePanels(kBlock, columns)), scores(take<float>(kBlock * keys)),
        out(take<float>(kBlock * columns)),
        probabilities(take<char>(2 * kBlock * keys)) {}

  void run() {
    pack.packColumns(rowsOf(head.k, 0), head.keys, head.width, k.data);
    pack.packColumns(columnsOf(head.v, 0), head.width, head.keys, v.data);
    for (int64_t query = 0; query < head.queries; query += kBlock)
      runBlock(query, least(kBlock, head.queries - query));
  }

private:
  void runBlock(int64_t query, int64_t count) {
    int64_t seen = padded(countSeen(head, query, count)), rows = padded(count);
    pack.packRows(rowsOf(head.q, query), count, head.width, q.data);
    multiply(q, k, q.blocks, rows, seen, scores, keys, false);
    Panels panels{probabilities, seen / 32};
    float sums[kBlock];
    for (int64_t r = 0; r < rows; ++r) {
      float *row = scores + r * keys;
      if (r < count)
        sums[r] = exponentiate(row, query + r, seen);
      packRow(row, r, panels);
    }
    multiply(panels, v, panels.blocks, rows, columns, out, columns, false);
    for (int64_t r = 0; r < count; ++r)
      writeRow(out + r * columns, head.width, 1 / sums[r],
               head.out.data + (query + r) * head.out.stride);
  }

  /// A query's scores as powers, whose sum it returns; none of what is not
  /// seen.
  float exponentiate(float *row, int64_t query, int64_t seen) {
    int64_t valid = countSeen(head, query);
    scaleRow(row, query, valid);
    float largest = largestOf(row, valid);
    const bool hidden = head.mask.data && hidesAll(largest);
    if (hidden) { // scores are lost in numbers
      const auto *mask = head.mask.data + query * head.mask.stride;
      for (int64_t i = 0; i < valid; ++i)
        row[i] = maskNumber(mask[i]);
      largest = largestOf(row, valid);
    }
    // Scores that are all -inf by themselves give NaN, as in float32.
    const bool nothing =
        largest == -__builtin_inff() && (head.mask.data || valid == 0);
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < seen; i += kLanes) {
      __mmask16 present = nothing || i >= valid ? 0 : maskOf(valid - i);
      __m512 power = exponential(_mm512_loadu_ps(row + i) - largest);
      power = _mm512_maskz_mov_ps(present, power);
      _mm512_storeu_ps(row + i, power);
      sum += power;
    }
    float total = nothing ? 1 : sumOf(sum);
    const float logSum = largest + __builtin_logf(total);
    if (head.logSumExp)
      head.logSumExp[query] = nothing  ? kNothingSeen
                              : hidden ? hiddenLog(logSum)
                                       : logSum;
    return total;
  }

  static float largestOf(const float *row, int64_t valid) {
    __m512 hidden = _mm512_set1_ps(-__builtin_inff()), most = hidden;
    for (int64_t i = 0; i < valid; i += kLanes) {
      __m512 value = _mm512_mask_loadu_ps(hidden, maskOf(valid - i), row + i);
      most = _mm512_max_ps(most, value);
    }
    return amx::largestOf(most);
  }

  static void packRow(const float *row, int64_t r, const Panels &panels) {
    for (int64_t block = 0; block < panels.blocks; ++block) {
      char *to = panels.at(r, block) + r % 16 * 64;
      const float *from = row + 32 * block;
      _mm512_storeu_si512(
          to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(
                  _mm512_loadu_ps(from + 16), _mm512_loadu_ps(from))));
    }
  }

  Panels k, v, q;
  float *scores, *out;
  char *probabilities;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

struct Backward : Head {
  explicit Backward(const NarrowAttentionHead &head)
      : Head(head), k(takePanels(keys, columns)), v(takePanels(keys, columns)),
        kByDepth(takePanels(columns, keys)), q(takePanels(kBlock, columns)),
        grad(takePanels(kBlock, columns)),
        qByDepth(takePanels(columns, kBlock)),
        gradByDepth(takePanels(columns, kBlock)),
        scores(take<float>(kBlock * keys)),
        scoreGrads(take<float>(kBlock * keys)),
        narrowScores(take<uint16_t>(kBlock * keys)),
        narrowGrads(take<uint16_t>(kBlock * keys)),
        packed(take<char>(2 * kBlock * keys)),
        kGrad(take<float>(keys * columns)), vGrad(take<float>(keys * columns)),
        qGrad(take<float>(kBlock * columns)) {}

  void run() {
    pack.packColumns(rowsOf(head.k, 0), head.keys, head.width, k.data);
    pack.packColumns(rowsOf(head.v, 0), head.keys, head.width, v.data);
    pack.packColumns(columnsOf(head.k, 0), head.width, head.keys,
                     kByDepth.data);
    for (int64_t i = 0; i < keys * columns; i += kLanes) {
      _mm512_storeu_ps(kGrad + i, _mm512_setzero_ps());
      _mm512_storeu_ps(vGrad + i, _mm512_setzero_ps());
    }
    for (int64_t query = 0; query < head.queries; query += kBlock)
      addBlock(query, least(kBlock, head.queries - query));
    write(kGrad, head.scale, head.kGrad);
    write(vGrad, 1, head.vGrad);
  }

private:
  void addBlock(int64_t query, int64_t count) {
    int64_t seen = padded(countSeen(head, query, count)), rows = padded(count);
    pack.packRows(rowsOf(head.q, query), count, head.width, q.data);
    pack.packRows(rowsOf(head.outGrad, query), count, head.width, grad.data);
    multiply(q, k, q.blocks, rows, seen, scores, keys, false);
    multiply(grad, v, grad.blocks, rows, seen, scoreGrads, keys, false);
    for (int64_t r = 0; r < count; ++r)
      differentiate(query + r, r * keys, seen);
    addTransposed(narrowScores, head.outGrad, query, count, seen, gradByDepth,
                  vGrad);
    addTransposed(narrowGrads, head.q, query, count, seen, qByDepth, kGrad);
    if (!head.qGrad.data)
      return;
    pack.packRows({narrowGrads, keys, 1}, count, seen, packed);
    multiply({packed, seen / 32}, kByDepth, seen / 32, rows, columns, qGrad,
             columns, false);
    for (int64_t r = 0; r < count; ++r)
      writeRow(qGrad + r * columns, head.width, head.scale,
               head.qGrad.data + (query + r) * head.qGrad.stride);
  }

  /// A query's probabilities, and the gradients of its scores but for the
  /// scale; zeros of what is not seen.
  void differentiate(int64_t query, int64_t at, int64_t seen) {
    int64_t valid = countSeen(head, query);
    float *row = scores + at;
    scaleRow(row, query, valid);
    float sum = head.logSumExp[query];
    if (head.mask.data && sum < kAllHidden)
      sum = takeHidden(head, query, 0, valid, row);
    float delta =
        dot(head.out.data + query * head.out.stride,
            head.outGrad.data + query * head.outGrad.stride, head.width);
    for (int64_t i = 0; i < seen; i += kLanes) {
      __mmask16 present = i >= valid ? 0 : maskOf(valid - i);
      __m512 power = exponential(_mm512_loadu_ps(row + i) - sum);
      power = _mm512_maskz_mov_ps(present, power);
      __m512 slope = _mm512_maskz_mov_ps(
          present, power * (_mm512_loadu_ps(scoreGrads + at + i) - delta));
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(narrowScores + at + i),
                          narrow(power));
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(narrowGrads + at + i),
                          narrow(slope));
    }
  }

  /// sums [keys, columns] += rows^T [keys, queries] times some of `factor`.
  void addTransposed(const uint16_t *rows, const HeadRowsOf<uint16_t> &factor,
                     int64_t query, int64_t count, int64_t seen, Panels byDepth,
                     float *sums) {
    byDepth.blocks = padded(count) / 32;
    pack.packRows({rows, 1, keys}, seen, count, packed);
    pack.packColumns(columnsOf(factor, query), head.width, count, byDepth.data);
    multiply({packed, byDepth.blocks}, byDepth, byDepth.blocks, seen, columns,
             sums, columns, true);
  }

  void write(const float *sums, float factor,
             const HeadRowsOf<uint16_t> &to) const {
    if (!to.data)
      return;
    for (int64_t r = 0; r < head.keys; ++r)
      writeRow(sums + r * columns, head.width, factor, to.data + r * to.stride);
  }

  Panels k, v, kByDepth, q, grad, qByDepth, gradByDepth;
  float *scores, *scoreGrads;
  uint16_t *narrowScores, *narrowGrads;
  char *packed;
  float *kGrad, *vGrad, *qGrad;
};

} // namespace

void attentionForward(const NarrowAttentionHead &head) { Forward(head).run(); }

void attentionBackward(const NarrowAttentionHead &head) {
  Backward(head).run();
}

} // namespace zc::kernels::amx
