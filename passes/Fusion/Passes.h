//===- Passes.h - which values exist ----------------------------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_PASSES_H
#define ZC_PASSES_FUSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Fusion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Fusion/Passes.h.inc"

/// Bytes of scratch memory that a library needs at most for an op on `threads`
/// threads. Libraries are known outside of passes/, which installs this.
using WorkspaceBound =
    std::function<uint64_t(mlir::Operation *op, int64_t threads)>;

/// Sets what `--zc-select-library-calls` asks; without it bounds are 0.
void setWorkspaceBound(WorkspaceBound bound);

/// Layouts, regions, library calls.
void buildFusionPipeline(mlir::OpPassManager &manager,
                         const SelectLibraryCallsPassOptions &options,
                         const WidenProductsPassOptions &products = {},
                         const MatchEpiloguesPassOptions &epilogues = {});

} // namespace zc

#endif // ZC_PASSES_FUSION_PASSES_H
