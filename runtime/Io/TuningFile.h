// The tuning file: for each call that a processor can compute in several ways
// the one that was quickest when it was measured.
//
//   {"zc_tuning": 1,
//    "ways": {"PROCESSOR, 2 threads: matmul of ...":
//             {"way": "tiles", "ms": {"library": 26.1, "tiles": 12.9}}}}
#ifndef ZC_RUNTIME_IO_TUNINGFILE_H
#define ZC_RUNTIME_IO_TUNINGFILE_H

#include "runtime/Device/Device.h"

namespace zc {

/// By the keys of Device::keyOfWays. Measurements are missing where nobody has
/// measured: a call left to the rule is called "rule".
using TuningTable = std::map<std::string, MeasuredWays>;

/// $XDG_CACHE_HOME/zc/tune.json, or ~/.cache/zc/tune.json. Fails where neither
/// $XDG_CACHE_HOME nor $HOME is set.
Result<std::string> defaultTuningFile();

/// The table of a file; empty where there is none, or an empty one. Fails
/// (InvalidArgument) for a file of anything else, and for a damaged one.
/// Entries whose form is not known, perhaps of a later version, are left out
/// and counted in `unknown`.
Result<TuningTable> readTuningFile(const std::string &path, size_t &unknown);

/// Adds entries to the file, which is made, with its folder, where there is
/// none; others that came meanwhile stay. It is replaced as a whole or not at
/// all.
Status addToTuningFile(const std::string &path, const TuningTable &added);

/// The text of a file with this table, and back; `path` is for messages.
std::string printTuning(const TuningTable &table);
Result<TuningTable> parseTuning(const std::string &text,
                                const std::string &path, size_t &unknown);

} // namespace zc

#endif // ZC_RUNTIME_IO_TUNINGFILE_H
