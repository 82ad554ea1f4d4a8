// The algorithms of collectives as the command line spells them.
#ifndef ZC_COMPILER_EXPORT_ALGORITHMNAMES_H
#define ZC_COMPILER_EXPORT_ALGORITHMNAMES_H

#include "runtime/Plan/Manifest.pb.h"

#include <string>
#include <utility>

namespace zc {

inline constexpr std::pair<const char *, plan::CollectiveAlgorithm>
    kAlgorithmNames[] = {{"auto", plan::AUTO},
                         {"ring", plan::RING},
                         {"recursive-doubling", plan::RECURSIVE_DOUBLING},
                         {"rabenseifner", plan::RABENSEIFNER},
                         {"sequential", plan::SEQUENTIAL},
                         {"parallel", plan::PARALLEL},
                         {"parameter-server", plan::PARAMETER_SERVER}};

inline std::string printAlgorithm(plan::CollectiveAlgorithm algorithm) {
  for (auto [name, each] : kAlgorithmNames)
    if (each == algorithm)
      return name;
  return "unknown";
}

} // namespace zc

#endif // ZC_COMPILER_EXPORT_ALGORITHMNAMES_H
