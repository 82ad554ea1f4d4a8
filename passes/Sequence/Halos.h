//===- Halos.h - what convolutions need of their neighbours -----*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_HALOS_H
#define ZC_PASSES_SEQUENCE_HALOS_H

#include "dialects/Train/TrainDialect.h"

#include <optional>

namespace zc {

/// How a convolution goes over the tokens of one spatial dim.
struct Halo {
  int64_t place;     // the spatial dim
  int64_t block;     // tokens of a rank
  int64_t low, high; // of its neighbours that it needs, before and behind
};

/// The tokens that each of `parts` ranks needs along a spatial dim. None where
/// a window is of one place, or blocks do not fit: results must be as many as
/// tokens by the stride, and a neighbour must have all that is needed.
std::optional<Halo> findHalo(train::ConvOp op, int64_t place, int64_t parts);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_HALOS_H
