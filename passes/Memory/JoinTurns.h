//===- JoinTurns.h - turns round a ring, in one -----------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_JOINTURNS_H
#define ZC_PASSES_MEMORY_JOINTURNS_H

#include "dialects/Train/TrainDialect.h"

#include <optional>

namespace zc {

/// A value that goes `shift` ranks round a ring.
struct Turn {
  mlir::Value begin;
  int64_t shift;
};

/// The one turn in which `op` comes to what it makes: from the nearest value
/// before it that `isKept`, or that no turn has brought. None if `op` is none.
std::optional<Turn> joinTurns(train::FusedOp op,
                              llvm::function_ref<bool(mlir::Value)> isKept);

/// Makes a turn one of `shift` ranks.
void setShift(train::FusedOp turn, int64_t shift);

} // namespace zc

#endif // ZC_PASSES_MEMORY_JOINTURNS_H
