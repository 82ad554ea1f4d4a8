//===- WholeNotes.cpp - notes on what an axis leaves whole ----------------===//
#include "passes/Sharding/WholeNotes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace zc {

void WholeNotes::leave(int64_t size, SmallVector<std::string> names) {
  left.push_back({size, std::move(names)});
}

void WholeNotes::repeatHeads(int64_t heads, StringRef name) {
  repeated[heads].insert(name);
}

bool WholeNotes::hasRepeated(StringRef name) const {
  return any_of(repeated,
                [&](const auto &each) { return each.second.contains(name); });
}

SmallVector<std::string> WholeNotes::write(StringRef axis,
                                           int64_t ranks) const {
  SmallVector<std::string> notes;
  const std::string among = " among " + std::to_string(ranks) + " ranks";
  for (auto [size, names] : left) {
    erase_if(names, [&](StringRef name) { return hasRepeated(name); });
    if (!names.empty())
      notes.push_back(axis.str() + " leaves " + join(names, ", ") + " whole: " +
                      std::to_string(size) + " does not divide" + among);
  }
  for (const auto &[heads, names] : repeated)
    notes.push_back(axis.str() + " repeats heads of " + join(names, ", ") +
                    ", which stay whole: " + std::to_string(heads) +
                    (heads == 1 ? " head is" : " heads are") + " shared" +
                    among);
  return notes;
}

} // namespace zc
