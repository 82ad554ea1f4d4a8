// The transforms and products of Winograd's convolutions, in vectors of
// channels.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/TileProduct.h"
#include "kernels/Cpu/VectorTranspose.h"
#include "kernels/Cpu/Winograd.h"

namespace zc::kernels::ZC_ISA {
namespace {

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The points +-kA and +-kB beside 0 and infinity. Their squares, and products
// of those, are exact. Lagrange's polynomials are divided by numbers that are
// multiplied with the results: one rounding less than with the taps.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
constexpr float kSum = kA2 + kB2, kProduct = kA2 * kB2;

/// The share of a point's frequency in the pixel or tap of a power.
constexpr float addsTo(int power, double point, double squareOfOther) {
  double square = point * point, share = 1 / (2 * square);
  share /= square - squareOfOther;
  for (int i = 0; i < power; ++i)
    share *= point;
  return static_cast<float>(share);
}
template <int Power> constexpr float kOfA = addsTo(Power, kA, kB2);
template <int Power> constexpr float kOfB = addsTo(Power, kB, kA2);
constexpr float kOfZero = static_cast<float>(1 / (double(kA2) * kB2));

inline Vector all(float value) { return broadcast(value); }

//===----------------------------------------------------------------------===//
// Lines: transforms of one dim
//===----------------------------------------------------------------------===//

/// Six pixels to six frequencies.
struct PatchLine {
  static constexpr int kIn = 6, kOut = 6;
  static void apply(const Vector *d, Vector *v) {
    v[0] = all(kProduct) * d[0] + (d[4] - all(kSum) * d[2]);
    Vector even = d[4] - all(kB2) * d[2], odd = d[3] - all(kB2) * d[1];
    v[1] = even + all(kA) * odd;
    v[2] = even - all(kA) * odd;
    even = d[4] - all(kA2) * d[2];
    odd = d[3] - all(kA2) * d[1];
    v[3] = even + all(kB) * odd;
    v[4] = even - all(kB) * odd;
    v[5] = all(kProduct) * d[1] + (d[5] - all(kSum) * d[3]);
  }
};

/// Three taps.
struct FilterLine {
  static constexpr int kIn = 3, kOut = 6;
  static void apply(const Vector *g, Vector *v) {
    v[0] = g[0];
    Vector even = g[0] + all(kA2) * g[2];
    v[1] = even + all(kA) * g[1];
    v[2] = even - all(kA) * g[1];
    even = g[0] + all(kB2) * g[2];
    v[3] = even + all(kB) * g[1];
    v[4] = even - all(kB) * g[1];
    v[5] = g[2];
  }
};

/// Four pixels of a gradient, which are a filter's gradient's taps.
struct PixelLine {
  static constexpr int kIn = 4, kOut = 6;
  static void apply(const Vector *z, Vector *v) {
    v[0] = z[0];
    Vector even = z[0] + all(kA2) * z[2], odd = z[1] + all(kA2) * z[3];
    v[1] = even + all(kA) * odd;
    v[2] = even - all(kA) * odd;
    even = z[0] + all(kB2) * z[2];
    odd = z[1] + all(kB2) * z[3];
    v[3] = even + all(kB) * odd;
    v[4] = even - all(kB) * odd;
    v[5] = z[3];
  }
};

/// Six frequencies to the pixels or taps of `Outputs` powers.
template <int Outputs> struct ResultLine {
  static constexpr int kIn = 6, kOut = Outputs;
  static void apply(const Vector *m, Vector *y) {
    Vector evenA = m[1] + m[2], oddA = m[1] - m[2];
    Vector evenB = m[3] + m[4], oddB = m[3] - m[4];
    y[0] = all(kOfZero) * m[0] + (all(kOfA<0>) * evenA + all(kOfB<0>) * evenB);
    y[1] = all(kOfA<1>) * oddA + all(kOfB<1>) * oddB;
    y[2] = all(kOfA<2>) * evenA + all(kOfB<2>) * evenB;
    if constexpr (Outputs == 4)
      y[3] = all(kOfA<3>) * oddA + all(kOfB<3>) * oddB;
    y[Outputs - 1] += m[5];
  }
};

/// The same along both dims: columns, then rows.
template <typename Line>
inline void transform(const Vector (&in)[Line::kIn][Line::kIn],
                      Vector (&out)[Line::kOut][Line::kOut]) {
  Vector half[Line::kOut][Line::kIn];
#pragma GCC unroll 8
  for (int j = 0; j < Line::kIn; ++j) {
    Vector from[Line::kIn], to[Line::kOut];
#pragma GCC unroll 8
    for (int i = 0; i < Line::kIn; ++i)
      from[i] = in[i][j];
    Line::apply(from, to);
#pragma GCC unroll 8
    for (int i = 0; i < Line::kOut; ++i)
      half[i][j] = to[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < Line::kOut; ++i)
    Line::apply(half[i], out[i]);
}

inline void loadFrequencies(const float *from, int64_t step,
                            Vector (&in)[6][6]) {
#pragma GCC unroll 8
  for (int i = 0; i < 6; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < 6; ++j)
      in[i][j] = load(from + (6 * i + j) * step);
}

inline void storeFrequencies(const Vector (&out)[6][6], float *to,
                             int64_t step) {
#pragma GCC unroll 8
  for (int i = 0; i < 6; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < 6; ++j)
      store(to + (6 * i + j) * step, out[i][j]);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// Where the pixels of a square in an image lie; those outside are zeros.
template <int Size> struct Square {
  const float *pixels[Size][Size];
  int64_t mask[Size][Size]; // of channels: 0 outside, else all bits
};

alignas(64) constexpr float kZeros[16] = {};

/// The first pixel of a tile. Tiles are counted over all images.
struct Place {
  int64_t image, row, column;
};

inline Place placeOf(const WinogradImages &images, int64_t tile) {
  int64_t column = tile % images.tiles[1], rest = tile / images.tiles[1];
  return {rest / images.tiles[0], rest % images.tiles[0] * kWinogradTile,
          column * kWinogradTile};
}

inline bool isInside(const WinogradImages &images, int64_t row,
                     int64_t column) {
  return row >= 0 && row < images.size[0] && column >= 0 &&
         column < images.size[1];
}

inline int64_t offsetOf(const WinogradImages &images, int64_t image,
                        int64_t row, int64_t column) {
  return ((image * images.size[0] + row) * images.size[1] + column) *
         images.channels;
}

template <int Size>
void findSquare(const WinogradImages &images, const Place &place,
                Square<Size> &square) {
  for (int i = 0; i < Size; ++i)
    for (int j = 0; j < Size; ++j) {
      int64_t row = place.row + i, column = place.column + j;
      bool inside = isInside(images, row, column);
      square.mask[i][j] = inside ? -1 : 0;
      square.pixels[i][j] =
          inside ? images.pixels + offsetOf(images, place.image, row, column)
                 : kZeros;
    }
}

template <typename Line>
void transformSquare(const WinogradImages &images, const Place &place,
                     int64_t count, float *to, int64_t step) {
  constexpr int kSize = Line::kIn;
  Square<kSize> square;
  findSquare(images, place, square);
  for (int64_t c = 0; c < count; c += kLanes) {
    Vector in[kSize][kSize], out[6][6];
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j)
        in[i][j] = load(square.pixels[i][j] + (c & square.mask[i][j]));
    transform<Line>(in, out);
    storeFrequencies(out, to + c, step);
  }
}

void transformPatch(const WinogradImages &images, int64_t tile, int64_t count,
                    float *to, int64_t step) {
  Place place = placeOf(images, tile);
  place.row -= images.pad[0];
  place.column -= images.pad[1];
  transformSquare<PatchLine>(images, place, count, to, step);
}

void transformPixels(const WinogradImages &images, int64_t tile, int64_t count,
                     float *to, int64_t step) {
  transformSquare<PixelLine>(images, placeOf(images, tile), count, to, step);
}

void makePixels(const float *from, int64_t step, const WinogradImages &images,
                int64_t tile, int64_t channel, int64_t count) {
  Place place = placeOf(images, tile);
  int64_t rows = least(kWinogradTile, images.size[0] - place.row);
  int64_t columns = least(kWinogradTile, images.size[1] - place.column);
  float *to = images.pixels + channel +
              offsetOf(images, place.image, place.row, place.column);
  for (int64_t c = 0; c < count; c += kLanes) {
    Vector in[6][6], out[4][4];
    loadFrequencies(from + c, step, in);
    transform<ResultLine<4>>(in, out);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        store(to + (i * images.size[1] + j) * images.channels + c, out[i][j]);
  }
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// The taps of a row and a vector of columns.
inline float *tapsAt(const WinogradFilter &filter, int64_t row,
                     int64_t column) {
  return filter.taps + row * filter.rowStride + column * filter.columnStride;
}

constexpr int kTaps = 9, kTapsAtOnce = kTaps < kLanes ? kTaps : kLanes;

/// The taps of a vector of columns, from lines of one column each.
void loadTaps(const WinogradFilter &filter, const float *from,
              Vector (&taps)[kTaps]) {
  const float *end = filter.taps + kTaps * filter.rows * filter.columns;
  const float *last = from + (kLanes - 1) * filter.columnStride;
  if (last + kLanes > end) { // a vector would reach beyond the filter
    for (int tap = 0; tap < kTaps; ++tap)
      for (int lane = 0; lane < kLanes; ++lane)
        taps[tap][lane] = from[lane * filter.columnStride + tap];
    return;
  }
  Vector lines[kLanes];
#pragma GCC unroll 16
  for (int lane = 0; lane < kLanes; ++lane)
    lines[lane] = load(from + lane * filter.columnStride);
  transpose(lines);
#pragma GCC unroll 9
  for (int tap = 0; tap < kTapsAtOnce; ++tap)
    taps[tap] = lines[tap];
  for (int tap = kTapsAtOnce; tap < kTaps; ++tap)
    for (int lane = 0; lane < kLanes; ++lane)
      taps[tap][lane] = from[lane * filter.columnStride + tap];
}

void storeTaps(const WinogradFilter &filter, const Vector (&taps)[kTaps],
               float *to) {
  Vector lines[kLanes] = {};
#pragma GCC unroll 9
  for (int tap = 0; tap < kTapsAtOnce; ++tap)
    lines[tap] = taps[tap];
  transpose(lines);
  for (int lane = 0; lane < kLanes; ++lane) {
    float *line = to + lane * filter.columnStride;
    alignas(64) float values[kLanes];
    store(values, lines[lane]);
    __builtin_memcpy(line, values, sizeof(float) * kTapsAtOnce);
    for (int tap = kTapsAtOnce; tap < kTaps; ++tap)
      line[tap] = taps[tap][lane];
  }
}

/// Brings the taps of a row and a vector of columns into the second-level
/// cache: there are too many lines for the processor to foresee.
inline void bringTaps(const WinogradFilter &filter, int64_t row,
                      int64_t column) {
  const float *from = tapsAt(filter, row, column);
  for (int lane = 0; lane < kLanes; ++lane)
    __builtin_prefetch(from + lane * filter.columnStride, 0, 2);
}

/// Taps as loadTaps() gives them to 36 frequencies.
inline void transformTaps(const WinogradFilter &filter, int64_t row,
                          int64_t column, float *to, int64_t step) {
  Vector taps[kTaps], in[3][3], out[6][6];
  loadTaps(filter, tapsAt(filter, row, column), taps);
#pragma GCC unroll 8
  for (int i = 0; i < 3; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < 3; ++j)
      in[i][j] = taps[filter.reversed ? 8 - (3 * i + j) : 3 * i + j];
  transform<FilterLine>(in, out);
  storeFrequencies(out, to, step);
}

constexpr int64_t kSlice = kTileVectors * kLanes;
static_assert(kWinogradPanel % kSlice == 0, "a panel has whole slices");

void transformFilter(const WinogradFilter &filter, const WinogradSquare &part,
                     float *to, int64_t step, int64_t sliceStep) {
  auto at = [&](int64_t r, int64_t c) {
    return to + c / kSlice * sliceStep + r * kSlice + c % kSlice;
  };
  if (filter.columnStride < filter.rowStride) { // rows lie far apart
    constexpr int64_t kAhead = 2;
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t c = 0; c < part.columns; c += kLanes) {
        if (r + kAhead < part.rows)
          bringTaps(filter, part.row + r + kAhead, part.column + c);
        transformTaps(filter, part.row + r, part.column + c, at(r, c), step);
      }
    return;
  }
  for (int64_t c = 0; c < part.columns; c += kLanes)
    for (int64_t r = 0; r < part.rows; ++r) {
      if (c + kLanes < part.columns)
        bringTaps(filter, part.row + r, part.column + c + kLanes);
      transformTaps(filter, part.row + r, part.column + c, at(r, c), step);
    }
}

void makeFilter(const float *from, int64_t step, const WinogradFilter &filter,
                int64_t row, int64_t column, int64_t count) {
  for (int64_t c = 0; c < count; c += kLanes) {
    Vector in[6][6], out[3][3], taps[kTaps];
    loadFrequencies(from + c, step, in);
    transform<ResultLine<3>>(in, out);
#pragma GCC unroll 8
    for (int i = 0; i < 3; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < 3; ++j)
        taps[3 * i + j] = out[i][j];
    storeTaps(filter, taps, tapsAt(filter, row, column + c));
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Adds a short sum to some rows and vectors of columns, or begins with it.
template <int Rows, int Vectors>
inline void addSum(const WinogradProduct &product, const float *a,
                   const float *b, int64_t depth, float *c, bool adds) {
  Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = Vector{};
#pragma GCC unroll 1
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      row[v] = load(b + k * product.bRow + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      Vector factor = broadcast(a[r * product.aRow + k * product.aColumn]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      float *to = c + r * product.cRow + v * kLanes;
      store(to, adds ? load(to) + sum[r][v] : sum[r][v]);
    }
}

template <int Rows, int Vectors>
inline void multiplyTileInSums(const WinogradProduct &product, const float *a,
                               const float *b, float *c) {
  bool adds = product.accumulate;
  for (int64_t block = 0; block < product.depth; block += product.blockDepth) {
    int64_t depth = least(product.blockDepth, product.depth - block);
    for (int64_t k = 0; k < depth; k += kWinogradSum) {
      addSum<Rows, Vectors>(product, a + k * product.aColumn,
                            b + k * product.bRow,
                            least(kWinogradSum, depth - k), c, adds);
      adds = true;
    }
    a += product.aBlock;
    b += product.bBlock;
  }
}

template <int Vectors>
void multiplyColumnsInSums(const WinogradProduct &product, int64_t column) {
  const float *b =
      product.b + column / kSlice * product.bSlice + column % kSlice;
  int64_t r = 0;
  auto step = [&](auto count) __attribute__((always_inline)) {
    constexpr int kRows = decltype(count)::value;
    multiplyTileInSums<kRows, Vectors>(product, product.a + r * product.aRow, b,
                                       product.c + r * product.cRow + column);
    r += kRows;
  };
  for (; r + kTileRows <= product.rows;)
    step(Count<kTileRows>());
  if (product.rows - r >= 4)
    step(Count<4>());
  if (product.rows - r >= 2)
    step(Count<2>());
  if (product.rows - r >= 1)
    step(Count<1>());
}

void multiplyInSums(const WinogradProduct &product) {
  int64_t column = 0;
  for (; column + kSlice <= product.columns; column += kSlice)
    multiplyColumnsInSums<kTileVectors>(product, column);
  for (; column + 2 * kLanes <= product.columns; column += 2 * kLanes)
    multiplyColumnsInSums<2>(product, column);
  for (; column < product.columns; column += kLanes)
    multiplyColumnsInSums<1>(product, column);
}

} // namespace

WinogradFunctions winogradFunctions() {
  return {transformPatch, transformPixels, kSlice,    transformFilter,
          multiplyInSums, makePixels,      makeFilter};
}

} // namespace zc::kernels::ZC_ISA
