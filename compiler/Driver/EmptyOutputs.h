// Outputs without elements: no program computes them, evaluation writes them.
#ifndef ZC_COMPILER_DRIVER_EMPTYOUTPUTS_H
#define ZC_COMPILER_DRIVER_EMPTYOUTPUTS_H

#include "compiler/Driver/Options.h"

namespace zc {

/// The name of the file of an output, NAME.npy, as zc-run calls it.
std::string getOutputFile(const std::string &output);

/// Writes NAME.npy of each into `folder`, which is made. False, after a message
/// on stderr, where that fails.
bool writeEmptyOutputs(const std::string &folder,
                       const std::vector<WithoutElements> &outputs);

} // namespace zc

#endif
