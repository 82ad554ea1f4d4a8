// The kinds of collectives that are timed: by `zc-run links`, and in the files
// of described clusters.
#ifndef ZC_RUNTIME_PLAN_COLLECTIVE_TIMEDKINDS_H
#define ZC_RUNTIME_PLAN_COLLECTIVE_TIMEDKINDS_H

#include "runtime/Plan/Manifest.pb.h"

#include <utility>

namespace zc {

/// By their names in files; a message is one from a rank to another.
inline constexpr std::pair<const char *, plan::CollectiveKind>
    kTimedCollectives[] = {{"all_reduce", plan::ALL_REDUCE},
                           {"all_gather", plan::ALL_GATHER},
                           {"reduce_scatter", plan::REDUCE_SCATTER},
                           {"message", plan::SEND_RECEIVE}};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_COLLECTIVE_TIMEDKINDS_H
