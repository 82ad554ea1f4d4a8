//===- MarkOffload.h - what lies in the second memory -----------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_MARKOFFLOAD_H
#define ZC_PASSES_MEMORY_MARKOFFLOAD_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

#include <optional>
#include <string>
#include <vector>

namespace zc {

/// The tensors that lie in the second memory space while nothing needs them.
struct OffloadChoice {
  /// The optimizer's moments. If weights have 16 bits, also the float32 weights
  /// that they are rounded from.
  bool optimizer = false;
  /// The weights that forward and backward read.
  bool parameters = false;
  /// Parameters stay on the device if steps or micro-batches begin with them
  /// (--zc-keep-busy-states). The step is quicker so, and takes more memory.
  bool keepsBusy = true;
  /// All values of the forward that the backward reads.
  bool activations = false;
  /// The host updates what `optimizer` names.
  bool update = false;
  /// Without `activations`: the values of the forward that lie there, by the
  /// numbers of StepAnalysis.
  llvm::BitVector values = {};

  bool isNone() const {
    return !optimizer && !parameters && !activations && values.none();
  }
};

/// Bytes of the states that may be offloaded, by kind.
struct OffloadableBytes {
  int64_t optimizer = 0, parameters = 0;
};
OffloadableBytes countOffloadable(mlir::ModuleOp module);

/// Whether a value is large enough for a copy.
bool isWorthOffloading(mlir::Value value);

/// Reads a list of some of the words optimizer, update, parameters and
/// activations; none if it has another word. `update` also sets `optimizer`.
std::optional<OffloadChoice> parseOffload(llvm::StringRef text);

/// Every choice of some, not all, of the kinds of tensors that `whole` has.
/// `update` stays, for it says who computes.
std::vector<OffloadChoice> listParts(const OffloadChoice &whole);

/// The kinds of tensors in `whole` that `part` has not: "optimizer and
/// parameters".
std::string printLeftOut(const OffloadChoice &whole, const OffloadChoice &part);

/// Marks the chosen states, and the chosen values of the program that has the
/// backward, as `offloaded`. Before, it must be settled which ops that program
/// runs again. Tensors of less than 4096 bytes stay where they are.
void markOffload(mlir::ModuleOp module, const OffloadChoice &choice);

} // namespace zc

#endif // ZC_PASSES_MEMORY_MARKOFFLOAD_H
