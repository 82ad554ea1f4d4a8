//===- Passes.h - tokens that ranks divide ----------------------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_PASSES_H
#define ZC_PASSES_SEQUENCE_PASSES_H

#include "dialects/Dist/DistDialect.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace zc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Sequence/Passes.h.inc"

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_PASSES_H
