// Advice for an option or a command that does not exist.
#ifndef ZC_RUNTIME_BASE_USAGE_H
#define ZC_RUNTIME_BASE_USAGE_H

#include <string>
#include <vector>

namespace zc {

/// The one of `known` that differs from `word` by few letters; empty: none
/// does.
std::string findSimilar(const std::string &word,
                        const std::vector<std::string> &known);

/// The commands of zc that have the option, as "zc run and zc eval"; empty:
/// none has.
std::string commandsWith(const std::string &option);

/// Why `argument` is none of `command`, whose options are `known`: it is one of
/// another command, or spelled otherwise, or superfluous.
std::string explainUnknown(const std::string &argument,
                           const std::string &command,
                           const std::vector<std::string> &known);

/// The parser's words for a wrong command line, in a user's: an option that
/// takes one value was given several times.
std::string explainUsage(const std::string &message);

} // namespace zc

#endif // ZC_RUNTIME_BASE_USAGE_H
