//===- Messages.h - values that cross from one role to another --*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_MESSAGES_H
#define ZC_PASSES_ANALYSIS_MESSAGES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Among the `messages` of a state that a message lies in: this role sends it.
inline constexpr llvm::StringLiteral kSendsKey = "sends";

/// On a role of a stage that several have: it is number `turn` of `turns`, and
/// computes the micro-batches k with k mod turns = turn.
inline constexpr llvm::StringLiteral kTurnAttr = "train.turn";
inline constexpr llvm::StringLiteral kTurnsAttr = "train.turns";

/// One end of a message, as `train.send` and `train.receive` say it.
struct MessageEnd {
  int64_t id;       // the same at both ends
  int64_t peer;     // the role at the other end
  bool hasGradient; // an activation whose gradient comes back
  bool isGradient;  // that gradient
  // The number of this end's stage in its role, where a role has several.
  int64_t chunk = 0;
  // How many roles are at the other end, from `peer` on: replicas of one stage,
  // which take micro-batches in turn. Between their messages' numbers lie
  // `step`.
  int64_t peers = 1, step = 0;

  static MessageEnd from(mlir::DictionaryAttr attribute);
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;

  /// The other way, of the gradient of this activation.
  MessageEnd gradient() const {
    return {id + 1, peer, false, true, chunk, peers, step};
  }
};

/// The end that an argument receives, or a result sends; none for others.
std::optional<MessageEnd> getReceived(mlir::func::FuncOp program,
                                      unsigned argument);
std::optional<MessageEnd> getSent(mlir::func::FuncOp program, unsigned result);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_MESSAGES_H
