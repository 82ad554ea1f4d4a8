//===- PoolKernel.h - maxima of windows, interpreted in one piece -*- C++ -*-=//
#ifndef ZC_COMPILER_INTERPRETER_POOLKERNEL_H
#define ZC_COMPILER_INTERPRETER_POOLKERNEL_H

#include "compiler/Interpreter/Machine.h"
#include "compiler/Interpreter/WindowWalk.h"

#include <optional>

namespace zc::interpreter {

/// Computes train.max_pool or its gradient as its linalg form does, whose loops
/// around single places cost the interpreter twenty times as much as the
/// elements.
class PoolKernel : WindowWalk {
public:
  using Shapes = llvm::ArrayRef<llvm::SmallVector<int64_t>>;

  /// None of other ops, nor where sums are rounded. `operands` and `results`:
  /// the shapes of the buffers.
  static std::optional<PoolKernel> create(mlir::Operation *op, Shapes operands,
                                          Shapes results, Precision precision);

  /// `buffers`: of the operands, then of the result.
  void run(llvm::ArrayRef<std::vector<Slot> *> buffers) const;

private:
  void setShapes(const train::Window &given, llvm::ArrayRef<int64_t> imageShape,
                 llvm::ArrayRef<int64_t> pooledShape);

  /// Calls `visit` with where an element of the window at a place lies in a
  /// channel of the image, for those that lie on it, in their order.
  template <typename Visit>
  void forEachElement(const Sizes &place, Visit visit) const;

  /// Calls `visit` with where each sample's channel begins in the image, each
  /// place, and where its element of what is pooled lies.
  template <typename Visit> void forEachPlace(Visit visit) const;

  template <typename Number>
  void takeMaxima(llvm::ArrayRef<std::vector<Slot> *> buffers) const;
  template <typename Number>
  void giveGradients(llvm::ArrayRef<std::vector<Slot> *> buffers) const;

  bool isExact = false, isGradient = false;
  int64_t samples = 0, channels = 0;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_POOLKERNEL_H
