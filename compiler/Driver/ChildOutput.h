// A program that runs to its end, and what it writes.
#ifndef ZC_COMPILER_DRIVER_CHILDOUTPUT_H
#define ZC_COMPILER_DRIVER_CHILDOUTPUT_H

#include "runtime/Base/Status.h"

#include <string>
#include <vector>

namespace zc {

/// Runs a program to its end, for 5 minutes at most. Its standard output is in
/// the file `output` afterwards, or nowhere where that is empty, and what it
/// says in the file `messages`; what either file held before is gone. A failure
/// is Internal, with what the program says.
Status runToFiles(const std::string &program,
                  const std::vector<std::string> &arguments,
                  const std::string &output, const std::string &messages);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_CHILDOUTPUT_H
