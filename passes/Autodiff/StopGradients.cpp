//===- StopGradients.cpp - values that are constants to gradients ---------===//
#include "passes/Autodiff/StopGradients.h"

#include "dialects/Train/GradientOps.h"

using namespace mlir;

namespace zc {

bool stopsGradient(Operation &op) { return isa<train::StopGradientOp>(op); }

void dropStopGradients(ModuleOp module) {
  module.walk([](train::StopGradientOp op) {
    op.getResult().replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

} // namespace zc
