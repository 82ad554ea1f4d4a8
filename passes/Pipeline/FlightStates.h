//===- FlightStates.h - what a micro-batch keeps ----------------*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_FLIGHTSTATES_H
#define ZC_PASSES_PIPELINE_FLIGHTSTATES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Messages.h"

namespace zc {

/// Makes states of values that outlive a program for one micro-batch, and of
/// messages. Rings are given once it is known who uses a state.
class FlightStates {
public:
  explicit FlightStates(mlir::ModuleOp role) : role(role) {}

  train::StateOp add(mlir::Value value);

  /// A state for what the argument receives, which it is then bound to.
  train::StateOp receive(mlir::func::FuncOp program, unsigned argument,
                         const MessageEnd &end);

  /// Notes that the state's value is sent.
  void send(train::StateOp state, const MessageEnd &end);

  struct Flight {
    train::StateOp state;
    bool isMessage = false, isSent = false, isGradient = false;
  };
  llvm::MutableArrayRef<Flight> getAll() { return flights; }

private:
  void addMessage(train::StateOp state, const MessageEnd &end, bool sends);

  mlir::ModuleOp role;
  llvm::SmallVector<Flight> flights;
};

void setRing(train::StateOp state, const llvm::Twine &ring);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_FLIGHTSTATES_H
