// The instructions of a program that some of its outputs need.
#ifndef ZC_RUNTIME_PLAN_NEEDEDINSTRUCTIONS_H
#define ZC_RUNTIME_PLAN_NEEDEDINSTRUCTIONS_H

#include "runtime/Plan/Manifest.pb.h"

#include <set>
#include <string>
#include <vector>

namespace zc {

/// For each instruction whether it is needed for the metrics, for the named
/// model outputs, or for data that outlive the program: states and messages to
/// other roles. All ranks of a role find the same. The program has been
/// verified.
std::vector<bool> neededInstructions(const plan::Program &program,
                                     const std::set<std::string> &outputs);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_NEEDEDINSTRUCTIONS_H
