// `zc plan --calibrate`: measures this machine through the runtime.
#ifndef ZC_COMPILER_DRIVER_CALIBRATE_H
#define ZC_COMPILER_DRIVER_CALIBRATE_H

#include <string>

namespace zc {

struct CalibrateOptions {
  std::string output; // empty: hereFile()
  bool quick = false; // seconds instead of minutes, and less exact
};

/// Compiles small models, trains them a few steps on one rank and on two, and
/// writes what that took as a description of the cluster "here". Returns the
/// exit code.
int calibrate(const CalibrateOptions &options);

} // namespace zc

#endif
