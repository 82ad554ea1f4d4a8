//===- NamePattern.cpp - expressions that find names ----------------------===//
#include "dialects/Interfaces/NamePattern.h"

#include <algorithm>

using namespace llvm;

namespace zc {

static constexpr size_t kMostCharacters = 4096, kMostNesting = 100,
                        kMostQuoted = 80;

/// How deep brackets lie in one another, those of a class of characters among
/// them: whoever writes a hundred of these is refused.
static size_t getNesting(StringRef text) {
  size_t depth = 0, deepest = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '(')
      deepest = std::max(deepest, ++depth);
    else if (text[at] == ')' && depth > 0)
      --depth;
  }
  return deepest;
}

std::string whyNotRead(StringRef expression) {
  if (expression.size() > kMostCharacters)
    return "it has " + std::to_string(expression.size()) +
           " characters, expected at most " + std::to_string(kMostCharacters);
  if (getNesting(expression) > kMostNesting)
    return "it has brackets nested " + std::to_string(getNesting(expression)) +
           " deep, expected at most " + std::to_string(kMostNesting);
  return "";
}

std::string quoteExpression(StringRef expression) {
  const bool isLong = expression.size() > kMostQuoted;
  return ("'" + expression.take_front(kMostQuoted) + (isLong ? "...'" : "'"))
      .str();
}

static Error refuse(StringRef text, const std::string &why) {
  return createStringError(quoteExpression(text) +
                           " is not a regular expression: " + why);
}

/// libstdc++'s usual way of searching tries one choice after the other: it
/// calls itself for each character, and may take forever. This one walks all at
/// once, once over the name.
static std::regex compile(const std::string &text) {
  return std::regex(text, std::regex::ECMAScript |
                              std::regex_constants::__polynomial);
}

Expected<NamePattern> NamePattern::parse(StringRef text) {
  if (std::string why = whyNotRead(text); !why.empty())
    return refuse(text, why);
  try {
    (void)compile(text.str()); // whose own brackets are in order
    return NamePattern(compile("[\\s\\S]*(?:" + text.str() + ")"));
  } catch (const std::regex_error &error) {
    return refuse(text, error.what());
  }
}

bool NamePattern::isIn(StringRef name) const {
  return std::regex_search(name.begin(), name.end(), expression,
                           std::regex_constants::match_continuous);
}

} // namespace zc
