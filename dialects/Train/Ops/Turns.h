// Angles within one turn.
#ifndef ZC_DIALECTS_TRAIN_OPS_TURNS_H
#define ZC_DIALECTS_TRAIN_OPS_TURNS_H

#include "dialects/Train/Ops/OpSupport.h"

namespace zc::train {

/// A float32 angle without its whole turns, in [-pi, pi], to float32's last
/// digit up to a million turns: polynomials for sine and cosine lose digits far
/// from 0. Other types as they are.
mlir::Value withoutTurns(ScalarBuilder &s, mlir::Value angle);

} // namespace zc::train

#endif
