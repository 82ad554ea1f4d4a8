// Options of a resumed run that differ from those before.
#ifndef ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H
#define ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H

#include "runtime/Driver/Trainer.h"

namespace zc {

/// A sentence for everything that is otherwise than in the run so far: options
/// of `zc run`, samples and their order. The session tells of the artifact.
std::vector<std::string> listChanges(const TrainState &saved,
                                     const TrainState &now,
                                     const TrainOptions &options);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H
