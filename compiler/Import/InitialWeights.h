// Weights that a run draws instead of reading them (`--init`).
#ifndef ZC_COMPILER_IMPORT_INITIALWEIGHTS_H
#define ZC_COMPILER_IMPORT_INITIALWEIGHTS_H

#include "dialects/Onnx/OnnxDialect.h"
#include "llvm/Support/Error.h"
#include <string>

namespace zc {

struct InitialWeights {
  enum Kind {
    Normal,        // weights of this standard deviation; biases 0, scales 1
    Truncated,     // the same, drawn again beyond two standard deviations
    ScaledByFanIn, // truncated, of the deviation sqrt(scale / inputs)
    TorchDefault,  // what PyTorch's module of that operator would begin with
    Zeros,
  };
  Kind kind = TorchDefault;
  double std = 0; // Normal, Truncated; ScaledByFanIn: the scale

  /// "normal:STD", "truncated-normal:STD", "truncated-normal:sqrt(S/n)" (n is
  /// the number of inputs), "torch-default" or "zeros".
  static llvm::Expected<InitialWeights> parse(llvm::StringRef text);

  /// Gives a draw to every initializer of `graph` that is trained, to the
  /// statistics of normalisations whose scale is drawn, and to what has no
  /// data; the others keep theirs. Fails when data are absent that cannot be
  /// drawn.
  mlir::LogicalResult apply(onnx::GraphOp graph) const;
};

} // namespace zc

#endif
