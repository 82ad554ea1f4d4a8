//===- Winograd.h - scratch memory that may be given up ---------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_WINOGRAD_H
#define ZC_PASSES_MEMORY_WINOGRAD_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace zc {

/// The convolutions of a module that may be computed by Winograd's way, which
/// takes more scratch memory than the library does.
class WinogradScratch {
public:
  explicit WinogradScratch(mlir::ModuleOp module);

  bool isEmpty() const { return calls.empty(); }
  /// Leaves them to the library, or plans for Winograd's way again.
  void giveUp();
  void takeBack();

private:
  struct Call {
    mlir::Operation *region, *convolution;
    int64_t bytes; // that Winograd's way needs
  };
  llvm::SmallVector<Call> calls;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_WINOGRAD_H
