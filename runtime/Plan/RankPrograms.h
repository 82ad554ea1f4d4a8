// Several artifacts in one: the same model compiled for several meshes, of
// which a run takes the one that is for as many ranks as it has.
//
//   OUT.zca                 the first mesh's artifact
//   OUT.zca: meshes/3.zca   an artifact for 3 ranks, without the weights that
//                           OUT.zca has, and without the model
#ifndef ZC_RUNTIME_PLAN_RANKPROGRAMS_H
#define ZC_RUNTIME_PLAN_RANKPROGRAMS_H

#include "runtime/Plan/Artifact.h"

#include <cstdint>
#include <vector>

namespace zc {

/// The numbers of ranks that the artifact can run on, the first mesh's first.
Result<std::vector<int64_t>> rankCountsOf(const Artifact &artifact);

/// The artifact for so many ranks, from inside of `artifact`; nothing where
/// that is for them itself, or has none.
Result<std::optional<Artifact>> findForRanks(const Artifact &artifact,
                                             int64_t ranks);

/// Puts the other artifacts, each for a number of ranks of its own, into the
/// one at `path`.
Status addForRanks(const std::string &path,
                   const std::vector<std::pair<int64_t, std::string>> &others);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_RANKPROGRAMS_H
