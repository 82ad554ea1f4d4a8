// What a run that goes on has otherwise than before.
#ifndef ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H
#define ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H

#include "runtime/Driver/Trainer.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// What the artifact computes with, of what changes the numbers of a run: loss,
/// optimizer and its settings, precision, dropout, batch norms.
NamedTexts describeCompiled(const plan::Manifest &manifest);

/// A sentence for everything that is otherwise than in the run so far: options
/// of `zc run` and of `zc compile`, samples and their order.
std::vector<std::string> listChanges(const TrainState &saved,
                                     const TrainState &now,
                                     const TrainOptions &options,
                                     const plan::Manifest &manifest);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RESUMEDOPTIONS_H
