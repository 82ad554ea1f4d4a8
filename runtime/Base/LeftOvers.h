// Temporary files and folders whose names tell their owner, so that the next
// process can remove those of a killed one (kill -9, no power).
#ifndef ZC_RUNTIME_BASE_LEFTOVERS_H
#define ZC_RUNTIME_BASE_LEFTOVERS_H

#include <string>

namespace zc {

/// "PREFIX-MARK-", to which a maker of unique names adds its letters. MARK
/// tells this process from all others, also from those that had its number
/// before and those of other containers: "42.70183.4026531836".
std::string ownPrefix(const std::string &prefix);

/// Removes the files and folders of this user in `folder` whose names begin
/// with `prefix` and the mark of a process that has ended, as far as possible.
void clearLeftOver(const std::string &folder, const std::string &prefix);

} // namespace zc

#endif // ZC_RUNTIME_BASE_LEFTOVERS_H
