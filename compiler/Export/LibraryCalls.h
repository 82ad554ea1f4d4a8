//===- LibraryCalls.h - calls as libraries take them ------------*- C++ -*-===//
//
// One source file per kind of call. All of them read the train op's attributes
// from the call's `config`; transposes and layouts become strides.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_EXPORT_LIBRARYCALLS_H
#define ZC_COMPILER_EXPORT_LIBRARYCALLS_H

#include "compiler/Export/ProgramExport.h"

namespace zc {

/// Fills in the call; fails for an op that no library of ours computes.
Status exportLibraryCall(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::Instruction &instruction);

void exportMatmul(sched::LibraryCallOp op, const ProgramExport &program,
                  plan::MatmulCall &call);

void exportConvolution(sched::LibraryCallOp op, const ProgramExport &program,
                       plan::ConvolutionCall &call);

void exportPooling(sched::LibraryCallOp op, const ProgramExport &program,
                   plan::PoolingCall &call);

void exportNorm(sched::LibraryCallOp op, const ProgramExport &program,
                plan::NormCall &call);

void exportAttention(sched::LibraryCallOp op, const ProgramExport &program,
                     plan::AttentionCall &call);

void exportGroupedMatmul(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::GroupedMatmulCall &call);

void exportSparse(sched::LibraryCallOp op, const ProgramExport &program,
                  plan::SparseCall &call);

/// `buffer` with the dims that its memory has, permuted: dim i of the operand
/// is dim permutation[i] of the buffer.
plan::StridedOperand makeOperand(mlir::Value buffer,
                                 llvm::ArrayRef<int64_t> permutation,
                                 const ProgramExport &program);

/// An image's buffer in the order N, C, spatial.
plan::StridedOperand makeImage(mlir::Value buffer, bool channelsLast,
                               const ProgramExport &program);

template <typename Call>
void setWorkspace(sched::LibraryCallOp op, const ProgramExport &program,
                  Call &call) {
  if (!op.getWorkspace())
    return;
  call.set_workspace(program.getIndex(op.getWorkspace()));
  call.set_has_workspace(true);
}

} // namespace zc

#endif // ZC_COMPILER_EXPORT_LIBRARYCALLS_H
