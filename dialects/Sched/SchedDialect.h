//===- SchedDialect.h - what a rank executes --------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_SCHED_SCHEDDIALECT_H
#define ZC_DIALECTS_SCHED_SCHEDDIALECT_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

namespace zc::sched {

/// Whether `type` is a memref of static shape and identity layout, of elements
/// of whole bytes (i1 takes one).
bool isBufferType(mlir::Type type);

} // namespace zc::sched

#include "dialects/Sched/MemoryClass.h.inc"
#include "dialects/Sched/SchedDialect.h.inc"

#include "dialects/Sched/SchedInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Sched/SchedOps.h.inc"

namespace zc::sched {

// Names of the discardable attributes (SchedDialect.td).
inline constexpr llvm::StringLiteral kPersistentBytesAttr =
    "sched.persistent_bytes";
inline constexpr llvm::StringLiteral kOffloadedBytesAttr =
    "sched.offloaded_bytes";
/// On a module: the bytes of a slot of each ring of `train.state`s of kind
/// flight ({name = bytes}).
inline constexpr llvm::StringLiteral kRingsAttr = "sched.rings";

// Memory classes of the transient region.
inline constexpr MemoryClass kActivations = MemoryClass::Activations;
inline constexpr MemoryClass kGradients = MemoryClass::Gradients;
inline constexpr MemoryClass kCommunication = MemoryClass::Communication;
inline constexpr MemoryClass kWorkspace = MemoryClass::Workspace;
/// Marks a buffer in the second memory space.
inline constexpr MemoryClass kOffloaded = MemoryClass::Offloaded;

// Kinds of output.
inline constexpr OutputKind kOutput = OutputKind::Output;
inline constexpr OutputKind kMetric = OutputKind::Metric;

/// Alignment of every offset in both regions.
inline constexpr int64_t kAlignment = 64;

inline int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The state, input or allocation that `buffer` is, or is a view of.
mlir::Value getRoot(mlir::Value buffer);

/// The byte of its root that `buffer` begins at.
int64_t getOffset(mlir::Value buffer);

/// Bytes of a tensor or memref of static shape; i1 takes one byte.
int64_t getByteSize(mlir::ShapedType type);
int64_t getByteSize(mlir::Value buffer);

/// The buffer type of a tensor type.
mlir::MemRefType getBufferType(mlir::RankedTensorType type);

/// Instructions of one stream run one after another, in the program's order.
/// Copies from the second memory have one, those to it another: a link carries
/// bytes both ways at once.
enum Stream : unsigned {
  kMainStream,
  kCollectiveStream,
  kFetchStream,
  kHostStream,
  kStoreStream
};
inline constexpr unsigned kNumStreams = 5;

/// The stream of an instruction: the main one if it is not async.
Stream getStream(mlir::Operation *instruction);

/// The async instructions that are under way, in a walk over a program from its
/// first operation to its last.
class UnderWay {
public:
  /// Steps over `op`: notes an async instruction, and returns those that have
  /// ended behind it, which a wait has: all of one stream, the awaited one
  /// last.
  llvm::SmallVector<mlir::Operation *> step(mlir::Operation &op);

  /// The instructions that `op` begins behind although nothing waits for them:
  /// where it is a fetch, a store or a host launch, those of the others'
  /// streams with which it shares memory.
  llvm::SmallVector<mlir::Operation *> getAwaitedBy(mlir::Operation &op) const;

  /// In the order of their beginnings.
  llvm::ArrayRef<mlir::Operation *> get() const { return instructions; }

private:
  llvm::SmallVector<mlir::Operation *> instructions;
};

/// Whether one of them writes memory that the other uses.
bool shareMemory(mlir::Operation *a, mlir::Operation *b);

/// Whether a root is an allocation in the second memory space.
bool isOffloadedAlloc(mlir::Operation *root);

/// The memory class of a buffer that is no state: its own, or that of what it
/// views.
MemoryClass getMemoryClass(mlir::Value buffer);

} // namespace zc::sched

#endif // ZC_DIALECTS_SCHED_SCHEDDIALECT_H
