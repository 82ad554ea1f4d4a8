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

/// bfloat16 numbers as they lie.
struct Narrow {
  using Element = uint16_t;
  static __m512i load32(const uint16_t *from, __mmask32 mask) {
    return _mm512_maskz_loadu_epi16(mask, from);
  }
  static __m256i load16(const uint16_t *from, __mmask16 mask) {
    return _mm256_maskz_loadu_epi16(mask, from);
  }
};

/// One of the bfloat16 numbers whose sum a float32 number is: the nearest, then
/// the nearest of what is left. Nothing is left of infinities.
template <int Part> struct Split {
  using Element = float;
  static __m512i load32(const float *from, __mmask32 mask) {
    __m256i low = load16(from, static_cast<__mmask16>(mask));
    __m256i high = load16(from + 16, static_cast<__mmask16>(mask >> 16));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  static __m256i load16(const float *from, __mmask16 mask) {
    __m512 left = _mm512_maskz_loadu_ps(mask, from);
    for (int part = 0; part < Part; ++part) {
      __m512i nearest =
          _mm512_slli_epi32(_mm512_cvtepu16_epi32(round(left)), 16);
      constexpr int kNotFinite = 0x99; // of fpclass: NaNs, infinities
      __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(left, kNotFinite));
      left = _mm512_maskz_sub_ps(finite, left, _mm512_castsi512_ps(nearest));
    }
    return round(left);
  }

private:
  static __m256i round(__m512 value) {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
  }
};

/// A block of lines whose own elements are contiguous, a line a row of it.
template <typename Source>
inline void loadLines(const typename Source::Element *from, int64_t lineStride,
                      int64_t lines, int64_t depth, __m512i *rows) {
  __mmask32 mask = depth >= kDepth ? ~__mmask32(0) : (1u << depth) - 1;
#pragma GCC unroll 16
  for (int line = 0; line < kLines; ++line)
    rows[line] = line < lines ? Source::load32(from + line * lineStride, mask)
                              : _mm512_setzero_si512();
}

/// A block of lines that lie next to one another, two of the depth a row of it.
template <typename Source>
inline void loadDepths(const typename Source::Element *from,
                       int64_t depthStride, int64_t lines, int64_t depth,
                       __m512i *rows) {
  __mmask16 mask = lines >= kLines ? 0xffff : (1u << lines) - 1;
  auto loadOne = [&](int64_t k) {
    return k < depth ? Source::load16(from + k * depthStride, mask)
                     : _mm256_setzero_si256();
  };
#pragma GCC unroll 16
  for (int pair = 0; pair < kDepth / 2; ++pair)
    rows[pair] = interleave(loadOne(2 * pair), loadOne(2 * pair + 1));
}

/// Blocks of a have a line in each row, those of b (`Pairs`) two of the depth.
template <typename Source, bool Pairs>
inline void packBlock(const MatmulLines &lines, int64_t line, int64_t k,
                      int64_t present, int64_t depth, __m512i *to) {
  auto *from = static_cast<const typename Source::Element *>(lines.data) +
               line * lines.lineStride + k * lines.depthStride;
  bool depthContiguous = lines.depthStride == 1;
  __m512i rows[kLines];
  if (depthContiguous)
    loadLines<Source>(from, lines.lineStride, present, depth, rows);
  else
    loadDepths<Source>(from, lines.depthStride, present, depth, rows);
  if (depthContiguous == Pairs)
    transpose(rows);
#pragma GCC unroll 16
  for (int row = 0; row < kLines; ++row)
    _mm512_store_si512(to + row, rows[row]);
}

inline int64_t panelsOf(int64_t lines) {
  return (lines + kTile - 1) / kTile * 2;
}

/// Whole blocks of two panels whose 32 lines lie next to one another.
template <bool Pairs>
inline void packTwoBlocks(const uint16_t *from, int64_t depthStride,
                          __m512i *first, __m512i *second) {
  // Four lines' elements each, so that the halves of 128 bits unpack in order.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  auto loadOne = [&](int64_t k) {
    return _mm512_maskz_permutexvar_epi64(
        0xff, order, _mm512_loadu_si512(from + k * depthStride));
  };
  __m512i low[kLines], high[kLines];
#pragma GCC unroll 16
  for (int pair = 0; pair < kLines; ++pair) {
    __m512i even = loadOne(2 * pair), odd = loadOne(2 * pair + 1);
    low[pair] = _mm512_unpacklo_epi16(even, odd);
    high[pair] = _mm512_unpackhi_epi16(even, odd);
    if (Pairs) {
      _mm512_store_si512(first + pair, low[pair]);
      _mm512_store_si512(second + pair, high[pair]);
    }
  }
  if (Pairs)
    return;
  transpose(low);
  transpose(high);
#pragma GCC unroll 16
  for (int line = 0; line < kLines; ++line) {
    _mm512_store_si512(first + line, low[line]);
    _mm512_store_si512(second + line, high[line]);
  }
}

/// Panels go in twos; lines that are not there are zeros. Memory is read in the
/// order in which it lies.
template <typename Source, bool Pairs>
void packPart(const MatmulLines &lines, int64_t count, int64_t depth,
              __m512i *to) {
  int64_t blocks = blocksOf(depth), panels = panelsOf(count);
  auto at = [&](int64_t panel, int64_t block) {
    return to + (panel * blocks + block) * kLines;
  };
  auto packOne = [&](int64_t panel, int64_t block) {
    int64_t line = panel * kLines, k = block * kDepth;
    int64_t present = line < count ? least(kLines, count - line) : 0;
    packBlock<Source, Pairs>(lines, line, k, present, depth - k,
                             at(panel, block));
  };
  auto packTwo = [&](int64_t panel, int64_t block) {
    int64_t line = panel * kLines, k = block * kDepth;
    if constexpr (sizeof(typename Source::Element) == 2)
      if (line + kTile <= count && k + kDepth <= depth)
        return packTwoBlocks<Pairs>(static_cast<const uint16_t *>(lines.data) +
                                        line + k * lines.depthStride,
                                    lines.depthStride, at(panel, block),
                                    at(panel + 1, block));
    packOne(panel, block);
    packOne(panel + 1, block);
  };
  if (lines.depthStride == 1)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t block = 0; block < blocks; ++block)
        packOne(panel, block);
  else
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = 0; panel < panels; panel += 2)
        packTwo(panel, block);
}

/// The panels of each part, one part behind the other.
template <bool Pairs, typename... Sources>
void pack(const MatmulLines &lines, int64_t count, int64_t depth, void *to) {
  auto *out = static_cast<__m512i *>(to);
  int64_t size = panelsOf(count) * blocksOf(depth) * kLines;
  ((packPart<Sources, Pairs>(lines, count, depth, out), out += size), ...);
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

/// Memory that is brought into caches while a tile is computed, some lines with
/// every block of the depth: rows of the next tile of c, and data that is
/// packed after this.
struct Coming {
  const char *c; // the row that comes next
  int64_t cRowBytes, cRows;
  SoonRead *soon;
  int64_t soonLines;

  void bring() {
    for (int i = 0; i < 2 && cRows > 0; ++i, --cRows, c += cRowBytes) {
      __builtin_prefetch(c, 1);
      __builtin_prefetch(c + 64, 1);
    }
    for (int64_t i = 0; i < soonLines; ++i)
      bringLine(*soon);
  }
};

/// Adds two panels of a times two of b, whose next panel is `panelBytes`
/// behind, to the sums in registers 0 to 3.
inline void addProducts(const char *a, const char *b, int64_t blocks,
                        int64_t panelBytes, Coming &coming) {
  for (int64_t at = 0; at < blocks * 1024; at += 1024) {
    coming.bring();
    _tile_loadd(4, a + at, 64);
    _tile_loadd(6, b + at, 64);
    _tile_loadd(5, a + at + panelBytes, 64);
    _tile_loadd(7, b + at + panelBytes, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

inline void clearTile() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

inline void loadTile(const float *from, int64_t row) {
  _tile_loadd(0, from, 4 * row);
  _tile_loadd(1, from + kLines, 4 * row);
  _tile_loadd(2, from + kLines * row, 4 * row);
  _tile_loadd(3, from + kLines * row + kLines, 4 * row);
}

inline void storeTile(float *to, int64_t row) {
  _tile_stored(0, to, 4 * row);
  _tile_stored(1, to + kLines, 4 * row);
  _tile_stored(2, to + kLines * row, 4 * row);
  _tile_stored(3, to + kLines * row + kLines, 4 * row);
}

/// 16 sums in c's type.
inline void storeSums(__m512 sums, char *c, bool narrow, __mmask16 mask) {
  if (narrow)
    _mm256_mask_storeu_epi16(
        c, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sums)));
  else
    _mm512_mask_storeu_ps(c, mask, sums);
}

/// c of a whole tile: its sums on top of what they begin with. So short that a
/// processor goes on with the next tile meanwhile.
template <bool Narrow, bool Starts>
inline void finishWhole(const float *sums, const float *start, int64_t startRow,
                        char *c, int64_t cRowBytes) {
#pragma GCC unroll 8
  for (int r = 0; r < kTile; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      __m512 sum = _mm512_load_ps(sums + v * kLines);
      if (Starts)
        sum = _mm512_add_ps(sum, _mm512_loadu_ps(start + v * kLines));
      if (Narrow)
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(c) + v,
                            reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
      else
        _mm512_storeu_ps(reinterpret_cast<float *>(c) + v * kLines, sum);
    }
    sums += kTile;
    start += Starts ? startRow : 0;
    c += cRowBytes;
  }
}

/// Sums of a tile between two chunks, as the registers are.
inline void keepTile(float *to) {
  _tile_stored(0, to, 64);
  _tile_stored(1, to + 256, 64);
  _tile_stored(2, to + 512, 64);
  _tile_stored(3, to + 768, 64);
}

inline void resumeTile(const float *from) {
  _tile_loadd(0, from, 64);
  _tile_loadd(1, from + 256, 64);
  _tile_loadd(2, from + 512, 64);
  _tile_loadd(3, from + 768, 64);
}

/// Computes the product of `panels`. A small depth is done at once, row by row,
/// as c lies. A large one is done in chunks, 32 columns by some rows at a time:
/// a chunk of the columns' depth stays in a first-level cache while rows pass
/// by, and the sums wait for the next chunk in the second. A chunk's products
/// of parts begin with the smallest; those of parts that are small both are
/// left out. Each chunk has sums of its own then, which are added to those that
/// wait: on top of these, the small products of all but the first would be
/// rounded away.
template <int Parts> class Multiplication {
public:
  explicit Multiplication(const MatmulPanels &panels)
      : panels(panels), blocks(blocksOf(panels.depth)), soon(panels.soon) {
    int64_t times = panelsOf(panels.rows) / 2 * (panelsOf(panels.columns) / 2) *
                    blocks * kPairs;
    soonLines = least(8, (linesOf(soon) + times - 1) / times);
    chunks = (blocks * Parts + kChunk - 1) / kChunk;
    startsFirst = Parts == 1 && panels.start && !panels.narrow;
  }

  void run() {
    if (chunks == 1)
      return runAtOnce();
    for (int64_t column = 0; column < panels.columns; column += kTile)
      for (int64_t row = 0; row < panels.rows; row += kWaiting * kTile)
        runSome(row, least(panels.rows, row + kWaiting * kTile), column);
  }

private:
  // Blocks of two panels of b that take a third of 48 KiB; tiles that wait.
  static constexpr int64_t kChunk = 8, kWaiting = 8;
  static constexpr int64_t kPairs = Parts * (Parts + 1) / 2; // of parts

  struct Place {
    int64_t row, column;
  };

  void runAtOnce() {
    for (int64_t row = 0; row < panels.rows; row += kTile)
      for (int64_t column = 0; column < panels.columns; column += kTile) {
        bool ends = column + kTile >= panels.columns;
        Place next = ends ? Place{row + kTile, 0} : Place{row, column + kTile};
        begin({row, column});
        Coming coming = comingAt(next);
        add({row, column}, 0, coming);
        finishTile({row, column}, waiting);
      }
  }

  void runSome(int64_t first, int64_t end, int64_t column) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t row = first; row < end; row += kTile) {
        float *sums = waiting + (row - first) * kTile;
        // The tile after this one, if c is needed there.
        bool wraps = row + kTile >= end;
        bool meetsC = chunk + wraps == (startsFirst ? 0 : chunks - 1);
        int64_t next = !meetsC ? panels.rows : wraps ? first : row + kTile;
        Coming coming = comingAt({next, column});
        if (Parts == 1 && chunk > 0)
          resumeTile(sums);
        else
          begin({row, column});
        add({row, column}, chunk, coming);
        if (Parts > 1)
          addUp({row, column}, chunk, sums);
        else if (chunk + 1 < chunks)
          keepTile(sums);
        else
          finishTile({row, column}, sums);
      }
  }

  /// Bytes between elements of c.
  int64_t size() const { return panels.narrow ? 2 : 4; }

  char *target(const Place &place) const {
    return static_cast<char *>(panels.c) +
           (place.row * panels.cRow + place.column) * size();
  }

  /// Rows of c of the tile at `next`, none behind the last row, and what is
  /// read soon.
  Coming comingAt(const Place &next) {
    if (next.row >= panels.rows)
      return {nullptr, 0, 0, &soon, soonLines};
    return {target(next), panels.cRow * size(),
            least(kTile, panels.rows - next.row), &soon, soonLines};
  }

  bool isWhole(const Place &place) const {
    return place.row + kTile <= panels.rows &&
           place.column + kTile <= panels.columns;
  }

  /// The tile's sums before the first chunk.
  void begin(const Place &place) const {
    if (startsFirst && isWhole(place))
      loadTile(startAt(place), panels.startRow);
    else
      clearTile();
  }

  const float *startAt(const Place &place) const {
    return panels.start
               ? panels.start + place.row * panels.startRow + place.column
               : nullptr;
  }

  /// Adds a chunk's products to the tile in the registers.
  void add(const Place &place, int64_t chunk, Coming &coming) {
    int64_t begin = blocks * chunk / chunks;
    int64_t end = blocks * (chunk + 1) / chunks;
    for (int sum = Parts - 1; sum >= 0; --sum)
      for (int part = 0; part <= sum; ++part)
        addProducts(
            panel(panels.a, panels.rows, place.row, part, begin),
            panel(panels.b, panels.columns, place.column, sum - part, begin),
            end - begin, blocks * kBlock * 2, coming);
  }

  /// Adds the tile in the registers, of a chunk, to the sums that wait, and
  /// finishes them after the last chunk.
  void addUp(const Place &place, int64_t chunk, float *sums) {
    if (chunk == 0)
      return storeTile(sums, kTile);
    storeTile(beside, kTile);
    bool isLast = chunk + 1 == chunks;
    if (isLast && isWhole(place) && !panels.start)
      return finishWhole<false, true>(beside, sums, kTile, target(place),
                                      panels.cRow * size());
    finishWhole<false, true>(beside, sums, kTile,
                             reinterpret_cast<char *>(sums), kTile * 4);
    if (isLast)
      finishSums(place, sums);
  }

  /// Stores the tile in the registers.
  void finishTile(const Place &place, float *sums) {
    if (isWhole(place) && !panels.narrow && (!panels.start || startsFirst))
      return storeTile(reinterpret_cast<float *>(target(place)), panels.cRow);
    storeTile(sums, kTile);
    finishSums(place, sums);
  }

  /// Finishes a tile of c. `start` is added last, so that its size rounds no
  /// sum before; only where `startsFirst` does a whole tile begin with it.
  void finishSums(const Place &place, const float *sums) {
    char *c = target(place);
    const float *start = startAt(place);
    if (!isWhole(place))
      return finishPart(sums, start, least(kTile, panels.rows - place.row),
                        least(kTile, panels.columns - place.column), c);
    auto whole = !panels.narrow ? finishWhole<false, true>
                 : start        ? finishWhole<true, true>
                                : finishWhole<true, false>;
    whole(sums, start, panels.startRow, c, panels.cRow * size());
  }

  void finishPart(const float *sums, const float *start, int64_t rows,
                  int64_t columns, char *c) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; j += kLines) {
        int64_t some = least(kLines, columns - j);
        __mmask16 mask = some == kLines ? 0xffff : (1u << some) - 1;
        __m512 sum = _mm512_load_ps(sums + r * kTile + j);
        if (start)
          sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(
                                       mask, start + r * panels.startRow + j));
        storeSums(sum, c + (r * panels.cRow + j) * size(), panels.narrow, mask);
      }
  }

  /// A part of the lines from `line` on of `count`, from a block of the depth
  /// on.
  const char *panel(const void *lines, int64_t count, int64_t line,
                    int64_t part, int64_t block) const {
    return static_cast<const char *>(lines) +
           ((part * panelsOf(count) + line / kLines) * blocks + block) *
               kBlock * 2;
  }

  const MatmulPanels &panels;
  const int64_t blocks; // of the depth
  SoonRead soon;
  int64_t soonLines, chunks;
  // Whole tiles of bfloat16 into float32 begin with what they are on top of, as
  // one pass over c less: 1300 for 1200 GFLOP/s of one thread at a depth of
  // 3072. So each pair of products is rounded at the size of c, by 2^-24 of it;
  // the factors' own rounding is 2^-9.
  bool startsFirst;
  alignas(64) float beside[kTile * kTile]; // of a chunk
  alignas(64) float waiting[kWaiting * kTile * kTile];
};

template <int Parts> void multiply(const MatmulPanels &panels) {
  static const Palette palette;
  _tile_loadconfig(&palette);
  Multiplication<Parts>(panels).run();
  _tile_release();
}

} // namespace

MatmulTileFunctions matmulTileFunctions(int floatParts) {
  if (floatParts == 2)
    return {pack<false, Split<0>, Split<1>>, pack<true, Split<0>, Split<1>>,
            multiply<2>};
  if (floatParts == 3)
    return {pack<false, Split<0>, Split<1>, Split<2>>,
            pack<true, Split<0>, Split<1>, Split<2>>, multiply<3>};
  return {pack<false, Narrow>, pack<true, Narrow>, multiply<1>};
}

} // namespace zc::kernels::amx
