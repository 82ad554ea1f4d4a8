//===- Winograd.cpp - scratch memory that may be given up -----------------===//
#include "passes/Memory/Winograd.h"

#include "dialects/Train/TrainDialect.h"
#include "dialects/Train/Winograd.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

WinogradScratch::WinogradScratch(ModuleOp module) {
  module.walk([&](FusedOp region) {
    if (!region.getLibrary())
      return;
    Operation &called = findCalled(region.getBody().front());
    if (mayUseWinograd(&called))
      calls.push_back({region, &called, int64_t(region.getWorkspaceBytes())});
  });
}

void WinogradScratch::giveUp() {
  for (const Call &call : calls) {
    setWinograd(call.convolution, false);
    cast<FusedOp>(call.region)
        .setWorkspaceBytes(
            getTarget(call.region).workspaceBound(call.convolution));
  }
}

void WinogradScratch::takeBack() {
  for (const Call &call : calls) {
    setWinograd(call.convolution, true);
    cast<FusedOp>(call.region).setWorkspaceBytes(call.bytes);
  }
}

} // namespace zc
