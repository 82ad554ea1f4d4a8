// Checks of single options' texts, which Commands.h declares.
#include "compiler/Driver/Commands.h"
#include "dialects/Interfaces/NamePattern.h"

#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace zc;

std::string zc::checkRegex(const std::string &text) {
  llvm::Expected<NamePattern> pattern = NamePattern::parse(text);
  return pattern ? "" : llvm::toString(pattern.takeError());
}

std::string zc::checkAmount(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 &&
      std::isfinite(value))
    return "";
  return "expected a finite number of at least 0, found " + text;
}

std::string zc::checkPositive(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value > 0 &&
      std::isfinite(value))
    return "";
  return "expected a finite number above 0, found " + text;
}

std::string zc::checkSeed(const std::string &text) {
  uint64_t value;
  return llvm::StringRef(text).getAsInteger(10, value)
             ? "expected a whole number from 0 to " +
                   std::to_string(UINT64_MAX) + ", found '" + text + "'"
             : "";
}
