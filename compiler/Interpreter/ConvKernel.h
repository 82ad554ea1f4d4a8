//===- ConvKernel.h - convolutions, interpreted in one piece ----*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_CONVKERNEL_H
#define ZC_COMPILER_INTERPRETER_CONVKERNEL_H

#include "compiler/Interpreter/Machine.h"
#include "dialects/Train/Ops/WindowSupport.h"

#include <array>
#include <optional>

namespace zc::interpreter {

/// Computes a convolution or one of its gradients as its linalg form does,
/// whose loops around rows of channels cost the interpreter a hundred times as
/// much as the products.
class ConvKernel {
public:
  using Shapes = llvm::ArrayRef<llvm::SmallVector<int64_t>>;

  /// None of other ops, nor where every product is rounded. `operands` and
  /// `results`: the shapes of the buffers.
  static std::optional<ConvKernel> create(mlir::Operation *op, Shapes operands,
                                          Shapes results, Precision precision);

  /// `buffers`: of the operands, then of the result.
  void run(llvm::ArrayRef<std::vector<Slot> *> buffers) const;

private:
  static constexpr int kDims =
      3; // spatial ones; the first have 1 where there are fewer
  enum Role { Image, Filter, Output };

  /// How a tensor is walked: by sample or filter's output, by channel, by the
  /// spatial dims.
  struct Walk {
    int64_t outer = 0, inner = 0;
    std::array<int64_t, kDims> spatial = {0, 0, 0};
  };
  using Sizes = std::array<int64_t, kDims>;

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
  Sizes image = {1, 1, 1}, places = {1, 1, 1}, window = {1, 1, 1};
  Sizes strides = {1, 1, 1}, dilations = {1, 1, 1}, pads = {0, 0, 0};
  Walk ofImage, ofFilter, ofOutput;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_CONVKERNEL_H
