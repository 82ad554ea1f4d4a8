#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Rounding.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace zc::kernels {
namespace {

// A panel of b of this depth lies in a first-level cache, or takes a ninth of
// what the second level could give; c is read and written seldom. Depths of 16
// bits that are larger than kNarrowDepth are divided further.
constexpr int64_t kDepth = 384, kNarrowDepth = 1024, kNarrowPart = 512,
                  kSplitDepth = 512;
// So many rows of a and a group of b's columns take less than 1 MiB: half of a
// second-level cache of the processors with AMX (2 MiB), where the rest is c's
// and the next group's; most of one of others.
constexpr int64_t kRows = 512, kNarrowRows = 1024;
constexpr int64_t kNarrowBlock = 2 * 512 * 768; // bytes
// Processors with AVX2 have first levels of 32 KiB, for a panel of b and some
// of a, and second ones of 256 or 512 KiB, for the group of columns and some of
// the rows. 1024 rows of a, read from the third level, take no longer (AMD EPYC
// of Zen 3) and let b be packed less often.
constexpr int64_t kAvx2Depth = 256, kAvx2Rows = 1024;
// Columns of a task that keeps its sums: these, too.
constexpr int64_t kSumColumns = 512;

/// Equal parts of `all`, each a multiple of `multiple`.
int64_t partOf(int64_t all, int64_t parts, int64_t multiple) {
  return std::min(all, roundUp(ceilDivide(all, parts), multiple));
}

/// Cycles of the thread that has most to do, for one element of depth, roughly:
/// how many products one does, and what packing a line takes.
double cost(int64_t rows, int64_t columns, const MatmulBlocks &blocks,
            ProcessorKind kind, int threads) {
  double parts = static_cast<double>(blocks.packedBytes) / 2;
  double ofVectors = kind == ProcessorKind::Avx2 ? 16 : 32;
  double products = blocks.inTiles ? 800 / parts / (parts + 1) : ofVectors;
  double rowCycles = blocks.inTiles ? 0.3 * parts : 0.8;
  double columnCycles = blocks.inTiles ? 0.3 * parts : 0.4;
  int64_t tasks =
      ceilDivide(rows, blocks.rows) * ceilDivide(columns, blocks.columns);
  double r = static_cast<double>(blocks.rows);
  double c = static_cast<double>(blocks.columns);
  return static_cast<double>(ceilDivide(tasks, threads)) *
         (r * c / products + rowCycles * r + columnCycles * c);
}

int64_t mostRows(const MatmulBlocks &blocks, ProcessorKind kind) {
  if (!blocks.inTiles) // sums that are kept need memory as well
    return kind == ProcessorKind::Avx2 && !blocks.keepsSums ? kAvx2Rows : kRows;
  int64_t lineBytes = blocks.packedBytes * roundUp(blocks.depth, 32);
  return std::min(kNarrowRows, kNarrowBlock / lineBytes / 32 * 32);
}

bool isContiguous(const StridedTensor &matrix) {
  return matrix.strides[0] == 1 || matrix.strides[1] == 1;
}

/// The blocks of a task whose rows and columns are not known yet.
MatmulBlocks blocksOf(const MatmulSpec &spec, ProcessorKind kind) {
  int64_t depth = spec.a.dims[1], size = elementBytes(spec.a.type);
  bool isSplit = size == 4 && spec.precision != MatmulPrecision::Highest;
  MatmulBlocks blocks = {};
  blocks.elementBytes = size;
  blocks.inTiles = kind != ProcessorKind::Avx2 && (isSplit || size == 2);
  blocks.packedBytes = isSplit          ? 2 * matmulParts(spec.precision)
                       : blocks.inTiles ? size
                                        : sizeof(float);
  int64_t most = kind == ProcessorKind::Avx2 ? kAvx2Depth
                 : !blocks.inTiles           ? kDepth
                 : size != 2                 ? kSplitDepth
                 : depth <= kNarrowDepth     ? kNarrowDepth
                                             : kNarrowPart;
  int64_t parts = ceilDivide(depth, most);
  blocks.depth = partOf(depth, parts, 32);
  blocks.keepsSums = spec.c.type != ElementType::F32 && parts > 1;
  return blocks;
}

/// Whether the library is slow on a row-major b. It reads columns of 64
/// elements; rows that lie a power of two apart fall into few sets of a
/// second-level cache (1 MiB in ways of 128 KiB), and where these do not hold
/// them they come from memory again and again.
bool meetInCache(const MatmulSpec &spec) {
  constexpr int64_t kWay = 128 << 10, kCache = 1024 << 10, kManyRows = 512;
  int64_t rowBytes = 4 * spec.b.strides[0];
  return spec.b.strides[1] == 1 && spec.c.dims[0] >= kManyRows &&
         spec.b.dims[0] * std::gcd(rowBytes, kWay) > kCache;
}

} // namespace

// The most that an instruction set's panels take: of 6 rows in 6 or 8 places, 8
// in 8, 14 in 16; two of 16 rows with AMX.
uint64_t MatmulBlocks::rowBytes() const {
  int64_t places = inTiles ? roundUp(rows, 32) : roundUp(rows, 6) / 6 * 8 + 16;
  return roundUp(packedBytes * places * roundUp(depth, 32), 64);
}

uint64_t MatmulBlocks::columnBytes() const {
  return packedBytes * kMatmulGroup * roundUp(depth, 32);
}

uint64_t MatmulBlocks::sumBytes() const {
  return keepsSums ? roundUp(4 * rows * roundUp(columns, 16), 64) : 0;
}

int matmulParts(MatmulPrecision precision) {
  switch (precision) {
  case MatmulPrecision::Bf16x3:
    return 2;
  case MatmulPrecision::Bf16x6:
    return 3;
  case MatmulPrecision::Highest:
    break;
  }
  return 1;
}

bool canTileMatmul(const MatmulSpec &spec) {
  ElementType type = spec.a.type;
  for (const StridedTensor *matrix : {&spec.a, &spec.b, &spec.c})
    if (matrix->dims.size() != 2 || !isContiguous(*matrix))
      return false;
  if (spec.a.dims[1] != spec.b.dims[0] || spec.c.dims[0] != spec.a.dims[0] ||
      spec.c.dims[1] != spec.b.dims[1])
    return false;
  bool plain = type == ElementType::F32 && spec.c.type == type;
  bool narrow =
      type == ElementType::BF16 && (spec.c.type == ElementType::F32 ||
                                    (spec.c.type == type && !spec.accumulate));
  return (plain || narrow) && spec.b.type == type && spec.a.dims[1] > 0 &&
         spec.c.dims[0] > 0 && spec.c.dims[1] > 0;
}

/// The rule for every processor with AVX-512. Measured on an Intel Xeon with
/// AVX-512 and AMX, two threads, GFLOP/s of the library and of tiles. float32:
/// rows that meet 140 to 170 and 370; a vocabulary of 50304 rows or columns 290
/// to 333 and 310 to 359. bfloat16: a transposed 1200 to 1750 and 1450 to 2500;
/// a vocabulary 1230 to 1640 and 1390 to 2090; else the library is ahead.
static bool tilesAnywhere(const MatmulSpec &spec, int64_t least, int64_t most) {
  constexpr int64_t kLong = 8192, kFew = 128;
  bool linesContiguous = spec.a.strides[1] == 1 && spec.b.strides[0] == 1;
  if (most >= kLong && least >= kFew && !linesContiguous)
    return true;
  if (spec.a.type == ElementType::F32)
    return meetInCache(spec);
  return spec.a.strides[1] != 1 && least >= kFew;
}

/// Whether two threads' share of a product is large, or a is transposed and no
/// dim is small.
static bool tilesLarge(const MatmulSpec &spec, int threads, int64_t least,
                       double large) {
  constexpr int64_t kFew = 128;
  constexpr double kSmall = kFew * kFew * kFew;
  if (least < kFew)
    return false;
  double products = 1; // perhaps more than 63 bits hold
  for (int64_t dim : {spec.c.dims[0], spec.c.dims[1], spec.a.dims[1]})
    products *= static_cast<double>(dim);
  double ofTwo = products * 2 / std::max(2, threads);
  return ofTwo > large || (spec.a.strides[1] != 1 && ofTwo >= kSmall);
}

/// The rule for Intel's processors with AVX-512. In float32 the library reaches
/// 82 to 90% of their rate where neither factor is transposed or b alone is, 77
/// to 87% where a is; tiles reach 88 to 94% for large products and 84 to 88%
/// for small ones, whatever is transposed. In bfloat16 with AMX, the library's
/// and the tiles' GFLOP/s for large products: 1210 to 2400 and 1600 to 2630;
/// for small ones with a as it lies 2270 to 2830 and 2210 to 2320, with a
/// transposed 1650 to 1930 and 2120 to 2400. Measured with two threads, 2 MiB
/// of second-level cache each: on more threads each packs a larger share of its
/// operands, as if the product were smaller, and the rule takes it so.
static bool tilesOnIntel(const MatmulSpec &spec, int threads, int64_t least) {
  constexpr double kLarge = 1 << 29;
  return tilesLarge(spec, threads, least, kLarge);
}

/// The rule for AVX2. Measured on a busy AMD EPYC of Zen 3, whose threads reach
/// 96 GFLOP/s in registers, one thread: large products 74 to 82 by the library
/// and 78 to 84 by tiles, with a transposed 74 to 79 and 80 to 84, or 35 to 46
/// and 68 to 82 where rows of a lie 8 KiB apart; of dims of 128 up to 91 and
/// 83, of 32 80 and 70. The library's products wait for one another, and each
/// takes memory from the system. It does not multiply bfloat16.
static bool tilesOnAvx2(const MatmulSpec &spec, int threads, int64_t least) {
  constexpr double kLarge = 1 << 27;
  return spec.a.type == ElementType::BF16 ||
         tilesLarge(spec, threads, least, kLarge);
}

bool tilesMatmul(const MatmulSpec &spec, ProcessorKind kind, int threads) {
  if (!canTileMatmul(spec))
    return false;
  auto [least, most] =
      std::minmax({spec.c.dims[0], spec.c.dims[1], spec.a.dims[1]});
  if (kind == ProcessorKind::Avx2)
    return tilesOnAvx2(spec, threads, least);
  return tilesAnywhere(spec, least, most) ||
         (kind == ProcessorKind::IntelWide &&
          tilesOnIntel(spec, threads, least));
}

bool mayTileMatmul(const MatmulSpec &spec) {
  if (spec.precision != MatmulPrecision::Highest)
    return canTileMatmul(spec);
  return std::any_of(std::begin(kProcessorKinds), std::end(kProcessorKinds),
                     [&](ProcessorKind kind) {
                       return tilesMatmul(spec, kind, /*threads=*/1);
                     });
}

MatmulBlocks divideMatmul(const MatmulSpec &spec, ProcessorKind kind,
                          int threads, uint64_t mostBytes) {
  int64_t rows = spec.c.dims[0], columns = spec.c.dims[1];
  if (spec.c.strides[1] != 1) // then c's transpose is computed
    std::swap(rows, columns);
  MatmulBlocks blocks = blocksOf(spec, kind);
  int64_t multiple = blocks.inTiles ? 32 : 2, most = 4 * threads;
  blocks.rows = std::min(rows, mostRows(blocks, kind));
  blocks.columns = std::min(columns, kSumColumns); // of those that keep sums
  while (blocks.taskBytes() > mostBytes && blocks.rows > multiple)
    blocks.rows = roundUp(blocks.rows / 2, multiple);
  int64_t fewest = ceilDivide(rows, blocks.rows);
  int64_t fewestColumns =
      blocks.keepsSums ? ceilDivide(columns, kSumColumns) : 1;
  blocks.rows = partOf(rows, fewest, multiple);
  blocks.columns = partOf(columns, fewestColumns, kMatmulGroup);
  MatmulBlocks best = blocks;
  for (int64_t rowParts = fewest; rowParts <= fewest + most; ++rowParts)
    for (int64_t columnParts = fewestColumns;
         columnParts <= std::max(fewestColumns, most / rowParts);
         ++columnParts) {
      blocks.rows = partOf(rows, rowParts, multiple);
      blocks.columns = partOf(columns, columnParts, kMatmulGroup);
      if (cost(rows, columns, blocks, kind, threads) <
          cost(rows, columns, best, kind, threads))
        best = blocks;
    }
  return best;
}

uint64_t tiledMatmulWorkspace(const MatmulSpec &spec, int threads) {
  int64_t lines = std::max(spec.c.dims[0], spec.c.dims[1]);
  uint64_t bytes = 0;
  for (ProcessorKind kind : kProcessorKinds) {
    MatmulBlocks most = blocksOf(spec, kind);
    most.rows = std::min(mostRows(most, kind), lines);
    most.columns = std::min(kSumColumns, lines);
    bytes = std::max(bytes, most.taskBytes());
  }
  return std::max(1, threads) * bytes;
}

} // namespace zc::kernels
