// Numbers of the update, as weight decay, that a run has otherwise than they
// were compiled.
#ifndef ZC_RUNTIME_DRIVER_UPDATESETTINGS_H
#define ZC_RUNTIME_DRIVER_UPDATESETTINGS_H

#include "runtime/Exec/Executor.h"

#include <map>
#include <string>
#include <vector>

namespace zc {

/// By the options of `zc run` and `zc compile`, without dashes.
using UpdateSettings = std::map<std::string, double>;

/// The names of all numbers that there may be.
const std::vector<std::string> &updateSettingNames();

/// A sentence on a value that the number of that name cannot have ("expected a
/// number of at least 0 and below 1"), or nothing.
std::string whyNoSetting(const std::string &name, double value);

/// Whether some role has such a number in its memory.
bool hasSetting(const plan::Manifest &manifest, const std::string &name);

/// Fails (InvalidArgument) where no role of the artifact has such a number in
/// its memory: its code depends on it, or it computes no such thing.
Status checkSettings(const Artifact &artifact, const UpdateSettings &settings);

/// Writes those that this rank's role has. Call it behind initialisation.
Status writeSettings(Executor &executor, const UpdateSettings &settings);

/// The value of `zc compile`'s option that the artifact was compiled with;
/// null: none is recorded.
const std::string *compiledSetting(const plan::Manifest &manifest,
                                   const std::string &name);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_UPDATESETTINGS_H
