// A constant whose value the importer knows: shapes, masks, tables. Elements
// are held widened (double or int64) and rounded to their type after every
// operation, so folding gives what the operator would have computed.
//
// A dim along which the values do not vary is stored once (`stored` 1 where
// `dims` is larger): an exported causal mask is [batch, 1, T, T] of which one
// [T, T] is different from the others.
#ifndef ZC_COMPILER_IMPORT_HOSTTENSOR_H
#define ZC_COMPILER_IMPORT_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zc {

using Dims = llvm::SmallVector<int64_t, 6>;

/// The product of `dims`; INT64_MAX, more than any limit, where a dim is
/// negative or the product does not fit.
int64_t getNumElements(llvm::ArrayRef<int64_t> dims);

/// The most elements a tensor may have, 1 PiB of float32: sizes in bytes, and
/// sums of thousands, fit 63 bits. Large batches over many ranks have whole
/// tensors that no memory could hold (attention's scores of Llama 3 405B:
/// 2^44).
constexpr int64_t kMaxElements = int64_t(1) << 48;

/// Row-major strides, in elements.
Dims getStrides(llvm::ArrayRef<int64_t> dims);

/// The dims that numpy's rules broadcast `a` and `b` to; nothing if they
/// differ.
std::optional<Dims> broadcast(llvm::ArrayRef<int64_t> a,
                              llvm::ArrayRef<int64_t> b);

struct HostTensor {
  int32_t dataType = 0; // proto::TensorProto::DataType
  Dims dims;
  Dims stored; // per dim: dims[i], or 1 when the values do not vary along it
  // Row-major over `stored`. One of the two, by isFloat().
  std::vector<double> floats;
  std::vector<int64_t> ints; // uint64: its bits

  HostTensor() = default;
  /// Zeros, stored in full.
  HostTensor(int32_t dataType, llvm::ArrayRef<int64_t> dims);

  static HostTensor ofInts(llvm::ArrayRef<int64_t> values); // 1-d int64
  /// From little-endian bytes, row-major over `dims`.
  static HostTensor fromBytes(int32_t dataType, llvm::ArrayRef<int64_t> dims,
                              llvm::StringRef bytes);

  bool isFloat() const;
  int64_t getNumStored() const { return getNumElements(stored); }
  bool isCompressed() const { return stored != dims; }

  /// The element as the other kind; a float is truncated.
  double getFloat(int64_t index) const;
  int64_t getInt(int64_t index) const;
  /// Stores `value` rounded or wrapped to the type.
  void set(int64_t index, double value);
  void set(int64_t index, int64_t value);

  /// All elements of a tensor of integers, in order, each dim in full.
  std::vector<int64_t> getInts() const;
  /// With every dim stored in full.
  HostTensor dense() const;
  /// With every dim stored once along which the values do not vary.
  HostTensor compressed() const;
  /// As little-endian bytes, row-major over `stored`.
  std::string toBytes() const;
};

/// `value` rounded to the floating-point type.
double roundTo(int32_t dataType, double value);
/// `value` wrapped to the integer type; bool: 0 or 1.
int64_t wrapTo(int32_t dataType, int64_t value);

/// Where the elements of a tensor lie while walking a (broadcast) space in
/// row-major order.
class BroadcastIndex {
public:
  /// `tensor` has the stored dims `stored`, aligned to the right of `space`.
  BroadcastIndex(llvm::ArrayRef<int64_t> stored, llvm::ArrayRef<int64_t> space);
  int64_t operator*() const { return offset; }
  BroadcastIndex &operator++();

private:
  Dims space, strides, position;
  int64_t offset = 0;
};

} // namespace zc

#endif
