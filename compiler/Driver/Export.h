// `zc export`.
#ifndef ZC_COMPILER_DRIVER_EXPORT_H
#define ZC_COMPILER_DRIVER_EXPORT_H

#include <string>

namespace zc {

struct ExportOptions {
  std::string artifact;
  std::string checkpoint;
  std::string output;      // the trained model; "": none
  std::string safetensors; // the weights alone; "": none
  bool average = false;    // of each parameter, its moving average
};

/// Writes what `options` ask for; returns the exit code.
int exportModel(const ExportOptions &options);

} // namespace zc

#endif
