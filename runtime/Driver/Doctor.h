// What this machine has for zc to compute with, for those who set it up or ask
// for help.
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

/// As lines of text, or as one JSON object by what was looked at.
std::string printFindings(const std::vector<Finding> &findings);
std::string findingsToJson(const std::vector<Finding> &findings);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_DOCTOR_H
