//===- Passes.h - evidence that a division changes nothing ------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_PASSES_H
#define ZC_PASSES_PROOF_PASSES_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Proof/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_PROOF_PASSES_H
