// How a product of two matrices is divided for our own tiles. Links
// nothing: the compiler plans the scratch memory with it.
#ifndef ZC_KERNELS_CALLS_DIVISION_MATMULBLOCKS_H
#define ZC_KERNELS_CALLS_DIVISION_MATMULBLOCKS_H

#include "kernels/Calls/Matmul.h"

namespace zc::kernels {

/// A task computes some rows and columns of c. For `depth` elements at a time
/// it packs its rows of a, and then some columns of b after the others.
struct MatmulBlocks {
  int64_t rows, columns; // of a task, the most
  int64_t depth;
  int64_t elementBytes; // of a and b as they lie
  int64_t packedBytes;  // of an element in all of its parts
  bool inTiles;         // AMX's registers; else vectors
  bool keepsSums;       // in float32 beside a c of 16 bits

  /// Bytes, multiples of 64, of a task's rows of a, of some columns of b, and
  /// of sums.
  uint64_t rowBytes() const;
  uint64_t columnBytes() const;
  uint64_t sumBytes() const;
  uint64_t taskBytes() const { return rowBytes() + columnBytes() + sumBytes(); }
};

/// Columns of b that are packed at once: four panels of the widest vectors.
constexpr int64_t kMatmulGroup = 128;

/// Whether our tiles can take the product: two dims, each matrix with
/// contiguous rows or columns; float32, or bfloat16 into either.
bool canTileMatmul(const MatmulSpec &spec);

/// The kinds of processor that the rule tells apart.
enum class ProcessorKind : uint8_t {
  Other,
  IntelWide, // Intel's with AVX-512, perhaps with AMX
  Avx2,      // x86 without AVX-512, or that is to do without
};

constexpr ProcessorKind kProcessorKinds[] = {
    ProcessorKind::Other, ProcessorKind::IntelWide, ProcessorKind::Avx2};

/// Whether our tiles are quicker than the library is on so many threads: a rule
/// of measurements. Where they are on some threads, they are on fewer.
bool tilesMatmul(const MatmulSpec &spec, ProcessorKind kind, int threads);

/// Whether any kind of processor computes the product by tiles, on any number
/// of threads: then memory is planned for them.
bool mayTileMatmul(const MatmulSpec &spec);

/// bfloat16 numbers that a float32 factor is a sum of; 1: it stays as it is.
int matmulParts(MatmulPrecision precision);

/// For tasks on so many threads, each with at most `mostBytes` where a task of
/// few rows has so few. The depth, on which the bits of c depend, is the same
/// for every number of threads on one kind of processor.
MatmulBlocks divideMatmul(const MatmulSpec &spec, ProcessorKind kind,
                          int threads, uint64_t mostBytes = UINT64_MAX);

/// Bytes that are enough for every kind of processor and every number of
/// threads up to `threads`.
uint64_t tiledMatmulWorkspace(const MatmulSpec &spec, int threads);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_MATMULBLOCKS_H
