// The tensors of files that the roles of an artifact hold: all roles together
// write and read the same files, whichever of them has a tensor.
#ifndef ZC_RUNTIME_PLAN_ROLETENSORS_H
#define ZC_RUNTIME_PLAN_ROLETENSORS_H

#include "runtime/Plan/FileTensor.h"

#include <functional>

namespace zc {

/// A tensor and its holders: several where roles share it.
struct HeldTensor {
  FileTensor tensor;      // as the first of the roles has it
  std::vector<int> roles; // ascending
};

/// The tensors of the states that `holds` takes, each once: in the order of the
/// roles, then of their states. The manifest has been verified.
std::vector<HeldTensor> tensorsOfRoles(const plan::Manifest &manifest,
                                       bool (*holds)(const plan::State &));

/// The tensors that `tensorsOf` makes of each state, in the same way.
std::vector<HeldTensor>
tensorsOfRoles(const plan::Manifest &manifest,
               const std::function<std::vector<FileTensor>(const plan::State &)>
                   &tensorsOf);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ROLETENSORS_H
