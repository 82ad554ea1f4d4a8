//===- TileProduct.h - one tile of a product, by a team ---------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TILEPRODUCT_H
#define ZC_PASSES_CODEGEN_CUDA_TILEPRODUCT_H

#include "passes/Codegen/Cuda/DeviceCode.h"

#include <functional>

namespace zc::cuda {

/// A factor of a product, as it lies in memory: lines along whose elements one
/// of its two dims runs, the other from line to line.
struct TileFactor {
  mlir::Value buffer;
  int64_t width; // elements of a line that there are
  /// Whether the elements of a line are what is summed over.
  bool sumsAlong;
  /// The first element of a line that the tile has, where it does not sum.
  mlir::Value column;
  /// All indices of `buffer` but the last for a line: the one `place` lines
  /// behind the tile's first, or, where lines are summed over, number `place`
  /// of all. Behind the last line it is any line that there is.
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value place)> line;
};

/// A tile of `rows` x `columns` of a product, summed in steps. 16-bit factors
/// whose lines are of multiples of 8 elements are multiplied by the tensor
/// cores, others one element after another, in float32 at least; both in the
/// order of what is summed over.
class TileProduct {
public:
  /// `left` and `right` are the elements a line has.
  TileProduct(mlir::Type element, mlir::Type result, int64_t rows,
              int64_t columns, int64_t leftWidth, int64_t rightWidth);

  int64_t threads() const;
  int64_t rows() const { return tileRows; }
  int64_t columns() const { return tileColumns; }
  /// Elements that one element of a factor's buffer holds: the tensor cores
  /// take two at once.
  int64_t perWord() const { return usesTensorCores ? 2 : 1; }
  mlir::Type wordType() const;

  /// `begin` to `end` is what is summed over; `isWhole`: lines that sum along
  /// have a multiple of a step of elements, all of which count.
  struct Sum {
    mlir::Value begin, end;
    bool isWhole;
  };
  /// Gets each of the thread's rows of the tile and, for one row, the columns
  /// and the elements there.
  using Writer = llvm::function_ref<void(mlir::Value row,
                                         llvm::ArrayRef<mlir::Value> columns,
                                         llvm::ArrayRef<mlir::Value> elements)>;
  /// All threads of the team build this.
  void build(DeviceCode code, const TileFactor &left, const TileFactor &right,
             const Sum &sum, Writer write);

private:
  class Loader;
  struct Step;

  int64_t stepSize() const;
  int64_t padding() const;
  mlir::Type sumType() const;
  mlir::Value shareTile(DeviceCode &code, bool sumsAlong, int64_t extent);
  std::pair<llvm::SmallVector<mlir::Value>, llvm::SmallVector<mlir::Value>>
  ownElements(DeviceCode &code, Step &step) const;
  llvm::SmallVector<mlir::Value> multiply(DeviceCode &code, Step &step,
                                          mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyElements(DeviceCode &code, Step &step,
                                                  mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyMatrices(DeviceCode &code, Step &step,
                                                  mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value>
  loadMatrices(DeviceCode &code, mlir::Value tile, mlir::Value line,
               mlir::Value column, bool transposed);
  void writeElements(DeviceCode &code, Step &step, mlir::ValueRange sums,
                     Writer write);
  void writeMatrices(DeviceCode &code, mlir::ValueRange sums, Writer write);
  mlir::Value rounded(DeviceCode &code, mlir::Value value);

  mlir::Type element, result;
  int64_t tileRows, tileColumns;
  bool usesTensorCores;
};

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TILEPRODUCT_H
