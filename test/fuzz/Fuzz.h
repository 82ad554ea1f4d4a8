// Readers against any bytes. A target reads one input and returns; whatever the
// input, it must not crash, hang, or ask for memory without end.
#ifndef ZC_TEST_FUZZ_FUZZ_H
#define ZC_TEST_FUZZ_FUZZ_H

#include <string>
#include <string_view>
#include <vector>

namespace zc::fuzz {

struct Target {
  const char *name; // also of its folder in the corpus
  void (*run)(std::string_view input);
  /// Words of the format, which chance would be long in finding.
  std::vector<std::string> words = {};
  /// Inputs that are easier made than kept; null: none.
  std::vector<std::string> (*seeds)() = nullptr;
};

/// Each program has its own.
std::vector<Target> listTargets();

/// A folder for files that readers want by their path; gone at the end.
const std::string &scratch();

} // namespace zc::fuzz

#endif // ZC_TEST_FUZZ_FUZZ_H
