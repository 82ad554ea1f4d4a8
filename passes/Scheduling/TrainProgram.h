//===- TrainProgram.h - what a program of fused ops is made of --*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_TRAINPROGRAM_H
#define ZC_PASSES_SCHEDULING_TRAINPROGRAM_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Whether a fused op is a collective.
bool isCollective(train::FusedOp op);

/// The fused op's result or the argument that `value` is a view of.
mlir::Value getTensorRoot(mlir::Value value);

/// The kind that forward and backward read as weights: parameters, or their
/// 16-bit copies where there are some.
train::StateKind getWeightKind(mlir::ModuleOp module);

/// Whether a program of this name computes gradients of a step or of a
/// micro-batch, or its forward, whatever stages of a pipeline it is of.
bool isOfMicroBatch(llvm::StringRef program);

/// The element of its root that `value` begins at.
int64_t getRootOffset(mlir::Value value);

/// Whether `value` is a view of less than all of its root.
bool isPart(mlir::Value value);

/// The state that an argument or a result is bound to; null if none.
mlir::FlatSymbolRefAttr getArgumentState(mlir::Value argument);
mlir::FlatSymbolRefAttr getResultState(mlir::func::FuncOp program,
                                       unsigned result);

/// Checks that the program holds nothing but fused ops and views, with a
/// diagnostic where not.
llvm::LogicalResult checkProgram(mlir::func::FuncOp program);

mlir::func::ReturnOp getReturn(mlir::func::FuncOp program);

/// The numbers of the operands of `op` that are `root` or a view of it.
llvm::SmallVector<unsigned> operandsWithRoot(train::FusedOp op,
                                             mlir::Value root);

/// Whether result `result` may be written over every operand in `operands`.
bool mayShare(train::FusedOp op, llvm::ArrayRef<unsigned> operands,
              unsigned result);

/// Puts the program's fused ops in `order`, which has all of them and respects
/// their operands; views go with what they view.
void applyOrder(mlir::func::FuncOp program,
                llvm::ArrayRef<train::FusedOp> order);

/// Whether it is a collective of several roles of a pipeline: each role issues
/// all of these in one order, and on its main stream, for whether there is
/// something to do beside them may differ among roles.
bool isAmongRoles(train::FusedOp op);

/// Whether the code computes one element after another: it is quick on any
/// processor.
bool isElementwise(mlir::Block &code);

/// Floating-point operations of all ops in the region.
double getFlops(train::FusedOp op);

/// The seconds of one execution by the roofline of what runs the op's module.
double estimateSeconds(train::FusedOp op);

/// The same of an instruction of the sched dialect, which says its costs.
double estimateInstructionSeconds(mlir::Operation *instruction);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_TRAINPROGRAM_H
