//===- ConvKernel.h - convolutions, interpreted in one piece ----*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_CONVKERNEL_H
#define ZC_COMPILER_INTERPRETER_CONVKERNEL_H

#include "compiler/Interpreter/Machine.h"
#include "compiler/Interpreter/WindowWalk.h"

#include <optional>

namespace zc::interpreter {

/// Computes a convolution or one of its gradients as its linalg form does,
/// whose loops around rows of channels cost the interpreter a hundred times as
/// much as the products.
class ConvKernel : WindowWalk {
public:
  using Shapes = llvm::ArrayRef<llvm::SmallVector<int64_t>>;

  /// None of other ops, nor where every product is rounded. `operands` and
  /// `results`: the shapes of the buffers.
  static std::optional<ConvKernel> create(mlir::Operation *op, Shapes operands,
                                          Shapes results, Precision precision);

  /// `buffers`: of the operands, then of the result.
  void run(llvm::ArrayRef<std::vector<Slot> *> buffers) const;

private:
  enum Role { Image, Filter, Output };

  void setShapes(const train::Window &window, llvm::ArrayRef<int64_t> image,
                 llvm::ArrayRef<int64_t> filter,
                 llvm::ArrayRef<int64_t> output);
  void joinDims();

  /// The places along a dim at which an element of the window lies in the
  /// image, and where it lies there at the first of them.
  struct Range {
    int64_t begin, end, inImage;
  };
  Range placesInside(int dim, int64_t inWindow) const;

  template <bool isExact, Role target>
  void runAll(llvm::ArrayRef<std::vector<Slot> *> buffers) const;

  std::array<int, 3> bufferOf; // by role
  Role target;                 // of the result
  bool isExact = false;
  int64_t samples = 0, groups = 0, groupChannels = 0, groupOutputs = 0;
  Steps ofFilter;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_CONVKERNEL_H
