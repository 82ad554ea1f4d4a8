// States that scales of 8-bit floats are made of (--fp8-scaling delayed).
#ifndef ZC_RUNTIME_PLAN_AMAXHISTORY_H
#define ZC_RUNTIME_PLAN_AMAXHISTORY_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// Whether a state holds the largest magnitudes that a tensor had in the steps
/// before. It is of the optimizer's kind, though no update reads it; its slot
/// begins as the compiler has it (kAmaxSlotPrefix).
inline bool isAmaxHistory(const plan::State &state) {
  return state.kind() == plan::OPTIMIZER &&
         state.slot().rfind("fp8_amax_", 0) == 0;
}

} // namespace zc

#endif // ZC_RUNTIME_PLAN_AMAXHISTORY_H
