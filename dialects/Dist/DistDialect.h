//===- DistDialect.h - tensors divided among ranks --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_DIST_DISTDIALECT_H
#define ZC_DIALECTS_DIST_DISTDIALECT_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/StepPass.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"

#include "dialects/Dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

namespace zc::dist {

// Names of the discardable attributes (DistDialect.td).
inline constexpr llvm::StringLiteral kMeshAttr = "dist.mesh";
inline constexpr llvm::StringLiteral kShardingAttr = "dist.sharding";
inline constexpr llvm::StringLiteral kNotesAttr = "dist.notes";
inline constexpr llvm::StringLiteral kDivisionsAttr = "dist.divisions";

// Keys of an entry of `dist.divisions`.
inline constexpr llvm::StringLiteral kDivisionName = "name";
inline constexpr llvm::StringLiteral kDivisionKind = "kind";
inline constexpr llvm::StringLiteral kDivisionType = "type";
inline constexpr llvm::StringLiteral kDivisionSharding = "sharding";
inline constexpr llvm::StringLiteral kDivisionWhy = "why";
inline constexpr llvm::StringLiteral kWholeAttr = "dist.whole";
inline constexpr llvm::StringLiteral kOperandsAttr = "dist.operands";
inline constexpr llvm::StringLiteral kResultsAttr = "dist.results";
inline constexpr llvm::StringLiteral kTrafficAttr = "dist.traffic";

inline constexpr llvm::StringLiteral kMomentsAttr = "dist.moments";
/// Sets two gathers of one value apart, or what is made of them: a StepPass.
inline constexpr llvm::StringLiteral kPassAttr = "dist.pass";

/// The nested module of states that lie in units.
inline constexpr llvm::StringLiteral kUnitModule = "units";

// Kinds of traffic: the data that a collective sends.
inline constexpr Traffic kGradients = Traffic::Gradients;
inline constexpr Traffic kParameters = Traffic::Parameters;
inline constexpr Traffic kActivations = Traffic::Activations;
inline constexpr Traffic kStatistics = Traffic::Statistics;
inline constexpr Traffic kScalars = Traffic::Scalars;

/// The traffic of a reduction of an op's results, by the op's mark; none: it
/// has no mark.
std::optional<Traffic> getTraffic(mlir::Operation *op);
void setTraffic(mlir::Operation *op, Traffic traffic);

/// The pass of a step that `op` is of, by its mark; none: it has no mark.
std::optional<StepPass> getPass(mlir::Operation *op);
void setPass(mlir::Operation *op, StepPass pass);

/// The mesh of the module that `op` is or is in; null: one rank.
MeshAttr getMesh(mlir::Operation *op);

/// The states of `module` that lie in the vector `unit`, in order.
llvm::SmallVector<train::StateOp> getUnitMembers(mlir::ModuleOp module,
                                                 llvm::StringRef unit);

/// The sizes of the blocks of a state's dim that are divided each by itself, a
/// rank's parts one after another; empty: the dim is one block.
llvm::ArrayRef<int64_t> getBlocks(train::StateOp state, int64_t dim);

/// The product of the axes' sizes; names that the mesh lacks count as 1.
int64_t getGroupSize(MeshAttr mesh, mlir::ArrayAttr axes);

/// The sharding of a tensor of `rank` dims that every rank has whole.
ShardingAttr getReplicated(mlir::MLIRContext *context, int64_t rank);

/// A rank's part of a tensor of `type`: every dim divided, rounded up.
mlir::RankedTensorType getPart(mlir::RankedTensorType type,
                               ShardingAttr sharding, MeshAttr mesh);

/// The whole tensor of which `part` is a rank's part, where all dims divide.
mlir::RankedTensorType getWhole(mlir::RankedTensorType part,
                                ShardingAttr sharding, MeshAttr mesh);

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_DISTDIALECT_H
