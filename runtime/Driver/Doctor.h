// Examines this machine's means for zc, for those who set it up or ask for
// help.
#ifndef ZC_RUNTIME_DRIVER_DOCTOR_H
#define ZC_RUNTIME_DRIVER_DOCTOR_H

#include "runtime/Base/Status.h"

#include <string>
#include <vector>

namespace zc {

/// One thing that was looked at.
struct Finding {
  std::string what;   // "processor", "cuda"
  std::string text;   // what was found, or why it cannot be used
  bool usable = true; // of devices and libraries: whether zc can use it
};

/// Processor, cores, memory, temporary files, devices with their measured
/// rates, and libraries to other ranks. `measures`: rates take some tenths of a
/// second. `root` is where /proc and /sys are looked for.
std::vector<Finding> examineMachine(bool measures,
                                    const std::string &root = "");

/// Prints lines of text, or one JSON object by the things examined.
std::string printFindings(const std::vector<Finding> &findings);
std::string findingsToJson(const std::vector<Finding> &findings);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_DOCTOR_H
