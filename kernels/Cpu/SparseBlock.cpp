// One block of a sparse tensor, packed and unpacked.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/SparseBlock.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace zc::kernels::ZC_ISA {
namespace {

inline int64_t numBytes(int64_t count) { return (count + 7) / 8; }

inline int64_t countBits(const uint8_t *bits, int64_t bytes) {
  int64_t sum = 0;
  for (int64_t i = 0; i < bytes; ++i)
    sum += __builtin_popcount(bits[i]);
  return sum;
}

// --- Any instruction set -----------------------------------------------------

template <typename T> inline uint8_t findByte(const T *dense, int64_t count) {
  unsigned byte = 0;
  for (int64_t i = 0; i < count; ++i)
    byte |= unsigned(dense[i] != 0) << i;
  return static_cast<uint8_t>(byte);
}

template <typename T> int64_t findBits(const SparseBlock &block) {
  auto *dense = static_cast<const T *>(block.dense);
  int64_t whole = block.count / 8;
  for (int64_t i = 0; i < whole; ++i)
    block.bits[i] = findByte(dense + 8 * i, 8);
  if (block.count % 8 != 0)
    block.bits[whole] = findByte(dense + 8 * whole, block.count % 8);
  return countBits(block.bits, numBytes(block.count));
}

/// The elements from `begin` on; returns where the next value goes.
template <typename T>
inline T *packFrom(const SparseBlock &block, int64_t begin, T *values) {
  auto *dense = static_cast<const T *>(block.dense);
  for (int64_t i = begin; i < block.count; ++i)
    if (dense[i] != 0)
      *values++ = dense[i];
  return values;
}

template <typename T>
inline void unpackFrom(const SparseBlock &block, int64_t begin, const T *values,
                       int64_t available) {
  auto *dense = static_cast<T *>(block.dense);
  for (int64_t i = begin; i < block.count; ++i) {
    bool isSet = (block.bits[i / 8] >> (i % 8) & 1) && available > 0;
    dense[i] = isSet ? *values : T(0);
    values += isSet;
    available -= isSet;
  }
}

#ifndef __AVX2__

template <typename T> void pack(const SparseBlock &block, void *values) {
  // No branch: what is +0 is overwritten, also behind the last value.
  T packed[kSparseBlock + 1];
  auto *dense = static_cast<const T *>(block.dense);
  int64_t count = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    packed[count] = dense[i];
    count += dense[i] != 0;
  }
  __builtin_memcpy(values, packed, count * sizeof(T));
}

template <typename T>
void unpack(const SparseBlock &block, const void *values, int64_t available) {
  unpackFrom(block, 0, static_cast<const T *>(values), available);
}

#endif

// --- AVX2: eight elements of 32 bits -----------------------------------------

#ifdef __AVX2__

#ifndef __AVX512F__

/// For every byte of bits: from where each of eight packed elements comes, and
/// where each of eight spread elements comes from.
struct Places {
  int32_t packing[256][8], spreading[256][8];
};

const Places &places() {
  static const Places table = [] {
    Places made = {};
    for (int byte = 0; byte < 256; ++byte)
      for (int i = 0, count = 0; i < 8; ++i)
        if (byte >> i & 1) {
          made.packing[byte][count] = i;
          made.spreading[byte][i] = count++;
        }
    return made;
  }();
  return table;
}

inline __m256i load(const void *from) {
  return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}

inline __m256i packPlaces(unsigned byte) {
  return load(places().packing[byte]);
}

/// All ones in the elements whose bits are set.
inline __m256i laneMask(unsigned byte) {
  __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  __m256i set = _mm256_and_si256(_mm256_set1_epi32(int(byte)), bit);
  return _mm256_cmpeq_epi32(set, bit);
}

inline __m256i firstLanes(int64_t count) {
  return laneMask((1u << (count < 8 ? count : 8)) - 1);
}

int64_t findBits32(const SparseBlock &block) {
  auto *dense = static_cast<const int32_t *>(block.dense);
  int64_t whole = block.count / 8;
  for (int64_t i = 0; i < whole; ++i) {
    __m256i zero =
        _mm256_cmpeq_epi32(load(dense + 8 * i), _mm256_setzero_si256());
    block.bits[i] =
        static_cast<uint8_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(zero)));
  }
  if (block.count % 8 != 0)
    block.bits[whole] = findByte(dense + 8 * whole, block.count % 8);
  return countBits(block.bits, numBytes(block.count));
}

void pack32(const SparseBlock &block, void *to) {
  auto *dense = static_cast<const int32_t *>(block.dense);
  auto *values = static_cast<int32_t *>(to);
  int64_t whole = block.count / 8;
  for (int64_t i = 0; i < whole; ++i) {
    unsigned byte = block.bits[i];
    int count = __builtin_popcount(byte);
    __m256i packed =
        _mm256_permutevar8x32_epi32(load(dense + 8 * i), packPlaces(byte));
    _mm256_maskstore_epi32(values, firstLanes(count), packed);
    values += count;
  }
  packFrom(block, 8 * whole, values);
}

void unpack32(const SparseBlock &block, const void *from, int64_t available) {
  auto *dense = static_cast<int32_t *>(block.dense);
  auto *values = static_cast<const int32_t *>(from);
  int64_t whole = block.count / 8, i = 0;
  for (; i < whole && available >= 8; ++i) {
    unsigned byte = block.bits[i];
    int count = __builtin_popcount(byte);
    __m256i spread = _mm256_permutevar8x32_epi32(
        load(values), load(places().spreading[byte]));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(dense + 8 * i),
                        _mm256_and_si256(spread, laneMask(byte)));
    values += count;
    available -= count;
  }
  unpackFrom(block, 8 * i, values, available);
}

template <typename T> void pack(const SparseBlock &block, void *values) {
  packFrom(block, 0, static_cast<T *>(values));
}

template <typename T>
void unpack(const SparseBlock &block, const void *values, int64_t available) {
  unpackFrom(block, 0, static_cast<const T *>(values), available);
}

#else

// --- AVX-512: sixteen elements, of 16 bits widened to 32 ---------------------

inline __mmask16 firstLanes(int64_t count) {
  return static_cast<__mmask16>((1u << (count < 16 ? count : 16)) - 1);
}

inline __m512i load(const uint32_t *from, __mmask16 lanes) {
  return _mm512_maskz_loadu_epi32(lanes, from);
}
inline __m512i load(const uint16_t *from, __mmask16 lanes) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
}
inline void store(uint32_t *to, __mmask16 lanes, __m512i elements) {
  _mm512_mask_storeu_epi32(to, lanes, elements);
}
inline void store(uint16_t *to, __mmask16 lanes, __m512i elements) {
  _mm256_mask_storeu_epi16(to, lanes, _mm512_cvtepi32_epi16(elements));
}

inline unsigned bitsAt(const SparseBlock &block, int64_t i) {
  unsigned low = block.bits[i / 8];
  return i + 8 < block.count ? low | unsigned(block.bits[i / 8 + 1]) << 8 : low;
}

template <typename T> int64_t findBitsWide(const SparseBlock &block) {
  auto *dense = static_cast<const T *>(block.dense);
  int64_t sum = 0;
  for (int64_t i = 0; i < block.count; i += 16) {
    __m512i x = load(dense + i, firstLanes(block.count - i));
    unsigned set = _mm512_test_epi32_mask(x, x);
    block.bits[i / 8] = static_cast<uint8_t>(set);
    if (i + 8 < block.count)
      block.bits[i / 8 + 1] = static_cast<uint8_t>(set >> 8);
    sum += __builtin_popcount(set);
  }
  return sum;
}

// Compressed in a register: straight to memory is slow on some machines.
template <typename T> void packWide(const SparseBlock &block, void *to) {
  auto *dense = static_cast<const T *>(block.dense);
  auto *values = static_cast<T *>(to);
  for (int64_t i = 0; i < block.count; i += 16) {
    unsigned set = bitsAt(block, i);
    int64_t count = __builtin_popcount(set);
    __m512i x = load(dense + i, firstLanes(block.count - i));
    store(values, firstLanes(count),
          _mm512_maskz_compress_epi32(static_cast<__mmask16>(set), x));
    values += count;
  }
}

template <typename T>
void unpackWide(const SparseBlock &block, const void *from, int64_t available) {
  auto *dense = static_cast<T *>(block.dense);
  auto *values = static_cast<const T *>(from);
  for (int64_t i = 0; i < block.count; i += 16) {
    unsigned set = bitsAt(block, i);
    int64_t count = __builtin_popcount(set);
    __m512i x = load(values, firstLanes(count < available ? count : available));
    store(dense + i, firstLanes(block.count - i),
          _mm512_maskz_expand_epi32(static_cast<__mmask16>(set), x));
    values += count;
    available -= count < available ? count : available;
  }
}

#endif
#endif

} // namespace

SparseFunctions sparseFunctions(int64_t elementBytes) {
#if defined(__AVX512F__)
  if (elementBytes == 2)
    return {findBitsWide<uint16_t>, packWide<uint16_t>, unpackWide<uint16_t>};
  return {findBitsWide<uint32_t>, packWide<uint32_t>, unpackWide<uint32_t>};
#elif defined(__AVX2__)
  if (elementBytes == 2)
    return {findBits<uint16_t>, pack<uint16_t>, unpack<uint16_t>};
  return {findBits32, pack32, unpack32};
#else
  if (elementBytes == 2)
    return {findBits<uint16_t>, pack<uint16_t>, unpack<uint16_t>};
  return {findBits<uint32_t>, pack<uint32_t>, unpack<uint32_t>};
#endif
}

} // namespace zc::kernels::ZC_ISA
