// An artifact's settings, as checkpoints remember them.
#ifndef ZC_RUNTIME_DRIVER_COMPILEDSETTINGS_H
#define ZC_RUNTIME_DRIVER_COMPILEDSETTINGS_H

#include "runtime/Driver/UpdateSettings.h"
#include "runtime/Io/Checkpoint.h"

namespace zc {

/// The artifact's settings that change the numbers of a run: loss, optimizer
/// and its settings, precision, dropout, batch norms.
NamedTexts describeCompiled(const plan::Manifest &manifest);

/// A sentence for everything that the artifact computes otherwise than the run
/// so far; `replaced` are numbers that are not as compiled any more.
std::vector<std::string> listCompiledChanges(const TrainState &saved,
                                             const UpdateSettings &replaced,
                                             const Artifact &artifact);

/// The text of that name; null: there is none.
const std::string *findText(const NamedTexts &texts, const std::string &name);

/// Removes all texts of that name.
void eraseText(NamedTexts &texts, const std::string &name);

/// Texts are equal, or as numbers: "1e-3" and "0.001" are the same.
bool meanTheSame(const std::string &left, const std::string &right);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_COMPILEDSETTINGS_H
