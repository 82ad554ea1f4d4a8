// A tile of a bfloat16 product in the tile registers of AMX, with float32 sums
// (Intel, "Architecture Instruction Set Extensions", chapter 3), and how lines
// become panels for it. Compiled for AMX and AVX-512; see MatmulTiles.h.
#include "kernels/Cpu/MatmulTiles.h"

#include <immintrin.h>

namespace zc::kernels::amx {
namespace {

// A register holds 16 rows of 64 bytes: 16 rows of a by 32 of its depth, 16
// pairs of b's depth by 16 columns, or 16 by 16 sums. Four of sums, two of a
// and two of b are multiplied at once.
constexpr int kLines = 16, kDepth = 32, kBlock = kLines * kDepth;
constexpr int kTile = 2 * kLines; // rows and columns of c at once

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t blocksOf(int64_t depth) { return (depth + kDepth - 1) / kDepth; }

//===----------------------------------------------------------------------===//
// Panels: of 16 lines; each block of 32 of the depth lies together
//===----------------------------------------------------------------------===//

/// The lanes of two vectors of 16 that differ by a power of two exchanged: a
/// step of transposing.
template <int Distance> inline void exchangeAll(__m512i *rows) {
  alignas(64) int32_t low[16], high[16];
  for (int lane = 0; lane < 16; ++lane) {
    bool set = lane & Distance;
    low[lane] = set ? 16 + lane - Distance : lane;
    high[lane] = set ? 16 + lane : lane + Distance;
  }
  __m512i lowIndex = _mm512_load_si512(low);
  __m512i highIndex = _mm512_load_si512(high);
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) {
    if (row & Distance)
      continue;
    __m512i a = rows[row], b = rows[row + Distance];
    rows[row] = _mm512_permutex2var_epi32(a, lowIndex, b);
    rows[row + Distance] = _mm512_permutex2var_epi32(a, highIndex, b);
  }
}

inline void transpose(__m512i *rows) {
  exchangeAll<8>(rows);
  exchangeAll<4>(rows);
  exchangeAll<2>(rows);
  exchangeAll<1>(rows);
}

/// 16 lines' elements of one depth, and the next one's between them.
inline __m512i interleave(__m256i even, __m256i odd) {
  __m512i wideEven = _mm512_cvtepu16_epi32(even);
  __m512i wideOdd = _mm512_cvtepu16_epi32(odd);
  return _mm512_or_si512(wideEven, _mm512_slli_epi32(wideOdd, 16));
}

/// A block whose lines lie side by side, one a row of it.
inline void loadLines(const uint16_t *from, int64_t lineStride, int64_t lines,
                      int64_t depth, __m512i *rows) {
  __mmask32 mask = depth >= kDepth ? ~__mmask32(0) : (1u << depth) - 1;
#pragma GCC unroll 16
  for (int line = 0; line < kLines; ++line)
    rows[line] = line < lines
                     ? _mm512_maskz_loadu_epi16(mask, from + line * lineStride)
                     : _mm512_setzero_si512();
}

/// A block of lines that lie side by side, two of the depth a row of it.
inline void loadDepths(const uint16_t *from, int64_t depthStride, int64_t lines,
                       int64_t depth, __m512i *rows) {
  __mmask16 mask = lines >= kLines ? 0xffff : (1u << lines) - 1;
  auto loadOne = [&](int64_t k) {
    return k < depth ? _mm256_maskz_loadu_epi16(mask, from + k * depthStride)
                     : _mm256_setzero_si256();
  };
#pragma GCC unroll 16
  for (int pair = 0; pair < kDepth / 2; ++pair)
    rows[pair] = interleave(loadOne(2 * pair), loadOne(2 * pair + 1));
}

/// Blocks of a have a line in each row, those of b (`Pairs`) two of the depth.
template <bool Pairs>
inline void packBlock(const MatmulLines &lines, int64_t line, int64_t k,
                      int64_t present, int64_t depth, __m512i *to) {
  auto *from = static_cast<const uint16_t *>(lines.data) +
               line * lines.lineStride + k * lines.depthStride;
  bool depthContiguous = lines.depthStride == 1;
  __m512i rows[kLines];
  if (depthContiguous)
    loadLines(from, lines.lineStride, present, depth, rows);
  else
    loadDepths(from, lines.depthStride, present, depth, rows);
  if (depthContiguous == Pairs)
    transpose(rows);
#pragma GCC unroll 16
  for (int row = 0; row < kLines; ++row)
    _mm512_store_si512(to + row, rows[row]);
}

/// Panels go in twos; lines that are not there are zeros. Memory is read in the
/// order in which it lies.
template <bool Pairs>
void pack(const MatmulLines &lines, int64_t count, int64_t depth, void *to) {
  int64_t blocks = blocksOf(depth), panels = (count + kTile - 1) / kTile * 2;
  auto packOne = [&](int64_t panel, int64_t block) {
    int64_t line = panel * kLines, k = block * kDepth;
    int64_t present = line < count ? least(kLines, count - line) : 0;
    packBlock<Pairs>(lines, line, k, present, depth - k,
                     static_cast<__m512i *>(to) +
                         (panel * blocks + block) * kLines);
  };
  if (lines.depthStride == 1)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t block = 0; block < blocks; ++block)
        packOne(panel, block);
  else
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = 0; panel < panels; ++panel)
        packOne(panel, block);
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

/// Two panels of a times two of b: registers 0 to 3 hold the sums.
inline void multiplyTile(const char *a, const char *b, int64_t depth) {
  int64_t blocks = blocksOf(depth), panel = blocks * kBlock * 2;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t block = 0; block < blocks; ++block, a += 1024, b += 1024) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(5, a + panel, 64);
    _tile_loadd(7, b + panel, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

inline void storeTile(float *to, int64_t row) {
  _tile_stored(0, to, 4 * row);
  _tile_stored(1, to + kLines, 4 * row);
  _tile_stored(2, to + kLines * row, 4 * row);
  _tile_stored(3, to + kLines * row + kLines, 4 * row);
}

/// 16 sums on top of what they begin with, in c's type.
inline void finish(__m512 sum, const float *start, char *c, bool narrow,
                   __mmask16 mask) {
  if (start)
    sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, start));
  if (narrow)
    _mm256_mask_storeu_epi16(
        c, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
  else
    _mm512_mask_storeu_ps(c, mask, sum);
}

/// The tile at `row` and `column` of what `panels` makes.
inline void multiplyAt(const MatmulPanels &panels, int64_t row,
                       int64_t column) {
  int64_t line = 2 * blocksOf(panels.depth) * kDepth; // bytes
  multiplyTile(static_cast<const char *>(panels.a) + row * line,
               static_cast<const char *>(panels.b) + column * line,
               panels.depth);
  int64_t rows = least(kTile, panels.rows - row);
  int64_t columns = least(kTile, panels.columns - column);
  int64_t size = panels.narrow ? 2 : 4;
  char *c = static_cast<char *>(panels.c) + (row * panels.cRow + column) * size;
  if (!panels.start && !panels.narrow && rows == kTile && columns == kTile)
    return storeTile(reinterpret_cast<float *>(c), panels.cRow);
  alignas(64) float sums[kTile * kTile];
  storeTile(sums, kTile);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; j += kLines) {
      const float *start =
          panels.start ? panels.start + (row + r) * panels.startRow + column + j
                       : nullptr;
      int64_t some = least(kLines, columns - j);
      finish(_mm512_load_ps(sums + r * kTile + j), start,
             c + (r * panels.cRow + j) * size, panels.narrow,
             some == kLines ? 0xffff : (1u << some) - 1);
    }
}

void multiply(const MatmulPanels &panels) {
  static const Palette palette;
  _tile_loadconfig(&palette);
  for (int64_t column = 0; column < panels.columns; column += kTile)
    for (int64_t row = 0; row < panels.rows; row += kTile)
      multiplyAt(panels, row, column);
  _tile_release();
}

} // namespace

MatmulTileFunctions matmulTileFunctions() {
  return {pack<false>, pack<true>, multiply};
}

} // namespace zc::kernels::amx
