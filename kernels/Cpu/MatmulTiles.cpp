// A register tile of a product, and how lines become panels for it.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/MatmulTiles.h"
#include "kernels/Cpu/TileProduct.h"
#include "kernels/Cpu/VectorTranspose.h"

namespace zc::kernels::ZC_ISA {
namespace {

// As many rows as fill the registers beside two vectors of b and one element
// of a. They take kPlaces floats of a's panel.
#if defined(__AVX512F__)
constexpr int kRows = 14, kVectors = 2, kPlaces = 16;
#elif defined(__AVX2__)
constexpr int kRows = 6, kVectors = 2, kPlaces = 6;
#else
constexpr int kRows = 8, kVectors = 2, kPlaces = 8;
#endif
static_assert(kRows <= kLanes || kRows % kLanes == 0, "lines are packed so");
constexpr int kColumns = kVectors * kLanes;
// The panels lie in the second-level cache: so many elements of depth ahead
// they are brought into the first, and lines of c and of what is packed next
// come some at a time, each after so many elements: all at once would hold up
// the panels'. Narrower vectors multiply too slowly to wait for panels, and
// have no slots to spare within a tile: with all this AVX2 takes 5 to 10%
// longer. Between their tiles they bring what is packed next.
constexpr bool kBrings = kLanes == 16;
constexpr int64_t kAhead = 16, kStep = 16;
// A panel of b meets so many rows of a before the next one does. Narrow
// vectors' panels fit into the first-level cache beside some of a's; wide
// vectors read a's from there and b's from the second level.
constexpr int64_t kBlockRows = kBrings ? kRows : 16 * kRows;
constexpr int kLineFloats = 16; // of a cache line
constexpr int kRowLines = (kColumns + kLineFloats - 1) / kLineFloats;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t tilesOf(int64_t count, int64_t tile) {
  return (count + tile - 1) / tile;
}

//===----------------------------------------------------------------------===//
// bfloat16 as float32 and back
//===----------------------------------------------------------------------===//

typedef uint32_t BitVector __attribute__((vector_size(4 * kLanes)));
typedef uint16_t HalfBits __attribute__((vector_size(2 * kLanes)));
typedef uint16_t UnalignedHalfBits
    __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));

using ZC_ISA::load, ZC_ISA::store; // of float32

inline Vector load(const uint16_t *from) {
  HalfBits bits = *reinterpret_cast<const UnalignedHalfBits *>(from);
  return reinterpret_cast<Vector>(__builtin_convertvector(bits, BitVector)
                                  << 16);
}
inline float widen(float value) { return value; }
inline float widen(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float wide;
  __builtin_memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

/// The nearest numbers, of two the even one; NaNs stay NaNs.
inline void store(uint16_t *to, Vector value) {
  BitVector bits = reinterpret_cast<BitVector>(value);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bits = value == value ? bits : BitVector{} + 0x7fc0;
  *reinterpret_cast<UnalignedHalfBits *>(to) =
      __builtin_convertvector(bits, HalfBits);
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// Panels of `Width` lines in `Places`, the next one behind a panel's depth.
template <int Width, int Places> struct Panels {
  float *to;
  int64_t depth;

  /// The destination of some lines from `line` on, which begin a vector of
  /// their panel.
  float *at(int64_t line, int64_t k) const {
    return to + (line / Width * depth + k) * Places + line % Width;
  }
};

/// How many lines of a vector a panel takes: all where there are places for
/// them.
template <int Width, int Places>
constexpr int kTaken = Places % kLanes == 0 ? kLanes : Width;

/// The first lines of a vector.
template <int Count> inline void storeFirst(float *to, Vector lines) {
  if constexpr (Count == kLanes) {
    store(to, lines);
  } else {
    static_assert(kLanes == 8 && Count == 6, "a half and a pair");
    typedef float Half __attribute__((vector_size(16)));
    typedef float Pair __attribute__((vector_size(8)));
    Half low = __builtin_shufflevector(lines, lines, 0, 1, 2, 3);
    Pair high = __builtin_shufflevector(lines, lines, 4, 5);
    __builtin_memcpy(to, &low, sizeof(low));
    __builtin_memcpy(to + 4, &high, sizeof(high));
  }
}

/// Lines whose own elements are contiguous.
template <typename Element, int Width, int Places>
void packAcross(const MatmulLines &lines, int64_t count, int64_t line,
                Panels<Width, Places> panels) {
  int64_t present = count - line;
  const Element *from =
      static_cast<const Element *>(lines.data) + line * lines.lineStride;
  int64_t k = 0;
  for (; k + kLanes <= panels.depth; k += kLanes) {
    Vector block[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i)
      block[i] = i < present ? load(from + i * lines.lineStride + k) : Vector{};
    transpose(block);
    float *to = panels.at(line, k);
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row)
      storeFirst<kTaken<Width, Places>>(to + row * Places, block[row]);
  }
  for (; k < panels.depth; ++k)
    for (int64_t i = 0; i < kTaken<Width, Places>; ++i)
      panels.at(line, k)[i] =
          i < present ? widen(from[i * lines.lineStride + k]) : 0;
}

/// Lines that lie next to one another, an element of each.
template <int Count, typename Element>
inline void packAlong(const Element *from, int64_t present, float *to) {
  if (present >= kLanes)
    return storeFirst<Count>(to, load(from));
  for (int64_t i = 0; i < Count; ++i)
    to[i] = i < present ? widen(from[i]) : 0;
}

template <typename Element, int Width, int Places>
void pack(const MatmulLines &lines, int64_t count, int64_t depth, void *to) {
  Panels<Width, Places> panels{static_cast<float *>(to), depth};
  // Whole panels: lines that are not there are zeros.
  int64_t padded = (count + Width - 1) / Width * Width;
  constexpr int64_t kSome = Width < kLanes ? Width : kLanes;
  if (lines.lineStride != 1) {
    for (int64_t line = 0; line < padded; line += kSome)
      packAcross<Element>(lines, count, line, panels);
    return;
  }
  // Some depths at a time: runs of lines are read, and runs of a panel written.
  // Rows a power of two apart meet in one set of the first-level cache.
  constexpr int64_t kRun = kBrings ? 16 : Width < kLanes ? 8 : 4;
  auto *data = static_cast<const Element *>(lines.data);
  for (int64_t begin = 0; begin < depth; begin += kRun)
    for (int64_t line = 0; line < padded; line += kSome)
      for (int64_t k = begin; k < least(begin + kRun, depth); ++k)
        packAlong<kTaken<Width, Places>>(data + k * lines.depthStride + line,
                                         count - line, panels.at(line, k));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Where the sums of a tile go, and what they begin with.
struct Target {
  char *c;
  int64_t cRow;
  bool narrow;        // c is bfloat16, else float32
  const float *start; // none: with zeros
  int64_t startRow;
  const int32_t *places; // of rows; none: 0, 1, 2 ...
  SoonRead *soon;        // brought meanwhile, so many lines a step or a tile
  int64_t soonLines;

  Target at(int64_t row, int64_t column) const {
    int64_t skipped = places ? 0 : row;
    return {c + (skipped * cRow + column) * (narrow ? 2 : 4),
            cRow,
            narrow,
            start ? start + skipped * startRow + column : nullptr,
            startRow,
            places ? places + row : nullptr,
            soon,
            soonLines};
  }
  template <typename Element = float> Element *row(int64_t row) const {
    return reinterpret_cast<Element *>(c) + placeOf(row) * cRow;
  }
  const float *startOf(int64_t row) const {
    return start ? start + placeOf(row) * startRow : nullptr;
  }

private:
  int64_t placeOf(int64_t row) const { return places ? places[row] : row; }
};

/// Adds the product of a column of a's panel and a row of b's.
template <int Rows>
inline void addOuterProduct(const float *a, const float *b,
                            Vector (&sum)[Rows][kVectors]) {
  Vector row[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    row[v] = load(b + v * kLanes);
    if (kBrings)
      __builtin_prefetch(b + kAhead * kColumns + v * kLanes);
  }
  if (kBrings)
    __builtin_prefetch(a + kAhead * kPlaces);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    Vector factor = broadcast(a[r]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] += factor * row[v];
  }
}

/// Asks for a line of the tile, of those of its rows.
inline void bringTarget(const Target &target, int64_t line) {
  __builtin_prefetch(
      target.row(line / kRowLines) + line % kRowLines * kLineFloats, 1);
}

/// Adds the products of two panels; brings some lines with every step of the
/// depth.
template <int Rows>
inline void addInSteps(const float *a, const float *b, int64_t depth,
                       const Target &target, Vector (&sum)[Rows][kVectors]) {
  constexpr int64_t kLines = Rows * kRowLines; // of c
  int64_t line = 0, linesEach = tilesOf(kLines * kStep, depth);
  for (int64_t k = 0; k < depth;) {
    for (int64_t end = least(kLines, line + linesEach); line < end; ++line)
      bringTarget(target, line);
    for (int64_t i = 0; i < target.soonLines; ++i)
      bringLine(*target.soon);
    int64_t end = least(k + kStep, depth);
#pragma GCC unroll 1
    for (; k < end; ++k)
      addOuterProduct<Rows>(a + k * kPlaces, b + k * kColumns, sum);
  }
}

/// [Rows, kColumns] products of two panels.
template <int Rows>
inline void multiplyTile(const float *a, const float *b, int64_t depth,
                         const Target &target) {
  Vector sum[Rows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = Vector{};
  if (kBrings) {
    addInSteps<Rows>(a, b, depth, target, sum);
  } else {
    for (int64_t i = 0; i < target.soonLines; ++i)
      bringLine(*target.soon);
#pragma GCC unroll 16
    for (int line = 0; line < Rows * kRowLines; ++line)
      bringTarget(target, line);
#pragma GCC unroll 1
    for (int64_t k = 0; k < depth; ++k)
      addOuterProduct<Rows>(a + k * kPlaces, b + k * kColumns, sum);
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    float *row = target.row(r);
    const float *start = target.startOf(r);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      store(row + v * kLanes,
            start ? load(start + v * kLanes) + sum[r][v] : sum[r][v]);
  }
}

/// A panel of a times one of b; rows that are not there are not computed.
inline void multiplyRows(const float *a, const float *b, int64_t rows,
                         int64_t depth, const Target &target) {
  int64_t r = 0;
  // A call of a tile's own takes 5% of AVX2's rate.
  auto step = [&](auto count) __attribute__((always_inline)) {
    constexpr int kCount = decltype(count)::value;
    multiplyTile<kCount>(a + r, b, depth, target.at(r, 0));
    r += kCount;
  };
  if (rows == kRows)
    return step(Count<kRows>());
  for (; rows - r >= 4;)
    step(Count<4>());
  if (rows - r >= 2)
    step(Count<2>());
  if (rows - r >= 1)
    step(Count<1>());
}

/// A row of sums that lie beside c, on top of `start` where there is one.
template <typename Element>
inline void writeRow(const float *sums, const float *start, int64_t columns,
                     Element *to) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes)
    store(to + j, start ? load(start + j) + load(sums + j) : load(sums + j));
  float rest[kLanes] = {};
  for (int64_t i = 0; i + j < columns; ++i)
    rest[i] = start ? start[j + i] + sums[j + i] : sums[j + i];
  Element last[kLanes];
  store(last, load(rest));
  for (int64_t i = 0; i + j < columns; ++i)
    to[j + i] = last[i];
}

/// The same where columns may be missing, or c is bfloat16: sums go beside c
/// first.
void multiplyPair(const float *a, const float *b, int64_t rows, int64_t columns,
                  int64_t depth, const Target &target) {
  if (columns == kColumns && !target.narrow)
    return multiplyRows(a, b, rows, depth, target);
  float beside[kRows * kColumns];
  multiplyRows(a, b, rows, depth,
               {reinterpret_cast<char *>(beside), kColumns, false, nullptr, 0,
                nullptr, target.soon, target.soonLines});
  for (int64_t r = 0; r < rows; ++r) {
    const float *sums = beside + r * kColumns, *start = target.startOf(r);
    if (target.narrow)
      writeRow(sums, start, columns, target.row<uint16_t>(r));
    else
      writeRow(sums, start, columns, target.row(r));
  }
}

/// Lines that a tile brings at a time, so that all come in time.
int64_t soonLinesOf(const MatmulPanels &panels) {
  int64_t times =
      tilesOf(panels.rows, kRows) * tilesOf(panels.columns, kColumns);
  if (kBrings)
    times *= tilesOf(panels.depth, kStep);
  constexpr int64_t kMost = kBrings ? kStep / 4 : 16;
  return least(kMost, tilesOf(linesOf(panels.soon), times));
}

void multiply(const MatmulPanels &panels) {
  auto *a = static_cast<const float *>(panels.a);
  auto *b = static_cast<const float *>(panels.b);
  SoonRead soon = panels.soon;
  Target target{static_cast<char *>(panels.c),
                panels.cRow,
                panels.narrow,
                panels.start,
                panels.startRow,
                panels.places,
                &soon,
                soonLinesOf(panels)};
  for (int64_t block = 0; block < panels.rows; block += kBlockRows) {
    int64_t end = least(panels.rows, block + kBlockRows);
    for (int64_t column = 0; column < panels.columns; column += kColumns)
      for (int64_t row = block; row < end; row += kRows)
        multiplyPair(a + row / kRows * kPlaces * panels.depth,
                     b + column * panels.depth, least(kRows, end - row),
                     least(kColumns, panels.columns - column), panels.depth,
                     target.at(row, column));
  }
}

} // namespace

MatmulTileFunctions matmulTileFunctions(bool ofBFloat16) {
  if (ofBFloat16)
    return {pack<uint16_t, kRows, kPlaces>, pack<uint16_t, kColumns, kColumns>,
            multiply};
  return {pack<float, kRows, kPlaces>, pack<float, kColumns, kColumns>,
          multiply};
}

} // namespace zc::kernels::ZC_ISA
