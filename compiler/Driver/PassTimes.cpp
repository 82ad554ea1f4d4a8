#include "compiler/Driver/PassTimes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <vector>

using namespace zc;

void PassTimes::add(llvm::StringRef name, double seconds) {
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = entries[name.str()];
  entry.seconds += seconds;
  ++entry.runs;
}

void PassTimes::print(llvm::raw_ostream &out, double whole) const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::pair<std::string, Entry>> sorted(entries.begin(),
                                                    entries.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto &a, const auto &b) {
                     return a.second.seconds > b.second.seconds;
                   });
  out << llvm::formatv("zc: time by pass, of {0:F3} s\n", whole);
  for (const auto &[name, entry] : sorted) {
    out << llvm::formatv("zc: {0,8:F3} s {1,5:F1}%  {2}", entry.seconds,
                         whole > 0 ? 100 * entry.seconds / whole : 0.0, name);
    if (entry.runs > 1)
      out << ", " << entry.runs << " runs";
    out << '\n';
  }
}
