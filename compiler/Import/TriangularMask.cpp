#include "compiler/Import/TriangularMask.h"

#include "compiler/Import/HostTensor.h"

#include <cstring>

namespace zc {

/// A mask of 16,384 tokens of float32 takes 1 GiB.
static constexpr int64_t kMostTokens = 1 << 14;

/// The size of a square matrix with dims of 1 in front; 0: it is none.
static int64_t findSide(const proto::TensorProto &tensor) {
  const int rank = tensor.dims_size();
  if (rank < 2 || tensor.dims(rank - 1) != tensor.dims(rank - 2))
    return 0;
  for (int i = 0; i + 2 < rank; ++i)
    if (tensor.dims(i) != 1)
      return 0;
  const int64_t side = tensor.dims(rank - 1);
  return side >= 2 && side <= kMostTokens ? side : 0;
}

/// Rows from `first` on: equal to `seen` up to the diagonal, to `hidden`
/// behind.
static bool areTriangular(llvm::StringRef bytes, int64_t first, int64_t side,
                          size_t width, llvm::StringRef seen,
                          llvm::StringRef hidden) {
  const int64_t rows = int64_t(bytes.size() / width) / side;
  const char *at = bytes.data();
  for (int64_t row = first; row < first + rows; ++row)
    for (int64_t column = 0; column < side; ++column, at += width)
      if (std::memcmp(at, (column <= row ? seen : hidden).data(), width) != 0)
        return false;
  return true;
}

bool isTriangularMask(const ModelFile &file, const proto::TensorProto &tensor,
                      const TensorSource &source) {
  const int64_t side = findSide(tensor);
  const bool isFloat = tensor.data_type() == proto::TensorProto::FLOAT;
  const size_t width = isFloat ? 4 : 1;
  if (side == 0 || source.transposed ||
      (!isFloat && tensor.data_type() != proto::TensorProto::BOOL) ||
      source.length != uint64_t(side) * uint64_t(side) * width)
    return false;
  TensorSource row = source;
  row.length = uint64_t(side) * width;
  llvm::Expected<std::string> first = readSource(file.folder, row);
  if (!first) {
    llvm::consumeError(first.takeError());
    return false;
  }
  const std::string seen = first->substr(0, width),
                    hidden = first->substr(width, width);
  if (seen == hidden || !areTriangular(*first, 0, side, width, seen, hidden))
    return false;
  llvm::Expected<std::string> all = readSource(file.folder, source);
  if (!all) {
    llvm::consumeError(all.takeError());
    return false;
  }
  return areTriangular(*all, 0, side, width, seen, hidden);
}

} // namespace zc
