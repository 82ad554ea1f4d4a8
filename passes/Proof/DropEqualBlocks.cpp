//===- DropEqualBlocks.cpp - --zc-drop-equal-blocks -----------------------===//
#include "passes/Proof/EqualBlocks.h"
#include "passes/Proof/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_DROPEQUALBLOCKSPASS
#include "passes/Proof/Passes.h.inc"

namespace {

struct DropEqualBlocks : public impl::DropEqualBlocksPassBase<DropEqualBlocks> {
  using Base::Base;

  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kForwardProgram);
    if (!program) {
      getOperation().emitOpError("has no program '") << kForwardProgram << "'";
      return signalPassFailure();
    }
    numBlocks += dropEqualBlocks(program, keep, divisions).blocks;
  }
};

} // namespace
} // namespace zc
