//===- MarkOffload.h - what lies in the second memory -----------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_MARKOFFLOAD_H
#define ZC_PASSES_MEMORY_MARKOFFLOAD_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

#include <optional>

namespace zc {

/// Kinds of values that are kept in the second memory space while nothing needs
/// them.
struct OffloadChoice {
  /// Moments, and the float32 weights behind those of 16 bits.
  bool optimizer = false;
  bool parameters = false; // what forward and backward read
  /// Of those, the ones stay on the device that steps or micro-batches begin
  /// with: quicker, and not as low.
  bool keepsBusy = true;
  bool activations = false; // values of the forward that the backward reads
  /// The optimizer's, which the host also updates.
  bool update = false;
  /// Some of these, as StepAnalysis numbers them.
  llvm::BitVector values = {};

  bool isNone() const {
    return !optimizer && !parameters && !activations && values.none();
  }
};

/// Bytes of what may be offloaded.
struct OffloadableBytes {
  int64_t optimizer = 0, parameters = 0;
};
OffloadableBytes countOffloadable(mlir::ModuleOp module);

/// Whether a value is worth a copy.
bool isWorthOffloading(mlir::Value value);

/// Reads "optimizer,update,parameters,activations" or a part of that; none if
/// another word is there. With `update` optimizer is set, too.
std::optional<OffloadChoice> parseOffload(llvm::StringRef text);

/// Marks states and values of the program that has the
/// backward as `offloaded`, once what it recomputes is settled. Tensors
/// smaller than a page are not offloaded.
void markOffload(mlir::ModuleOp module, const OffloadChoice &choice);

} // namespace zc

#endif // ZC_PASSES_MEMORY_MARKOFFLOAD_H
