//===- NamePattern.cpp - expressions that find names ----------------------===//
#include "dialects/Interfaces/NamePattern.h"

#include <algorithm>
#include <vector>

using namespace llvm;

namespace zc {

static constexpr size_t kMostCharacters = 4096, kMostNesting = 100,
                        kMostQuoted = 80, kMostLooks = 8;

namespace {
/// The brackets of an expression, but those of classes of characters.
struct Brackets {
  size_t deepest = 0;      // how many lie in one another
  size_t deepestAhead = 0; // and how many of those that look ahead
  size_t looks = 0;        // all of these
};
} // namespace

/// The end of the class of characters, such as [a-z([:digit:]], that begins at
/// `at`.
static size_t skipClass(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != ']'; ++at) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '[' && StringRef(":.=").contains(next)) {
      const size_t end = text.find(std::string{next, ']'}, at + 2);
      if (end == StringRef::npos)
        return text.size();
      at = end + 1;
    }
  }
  return at;
}

static bool looksAhead(StringRef bracket) {
  return bracket.starts_with("(?=") || bracket.starts_with("(?!");
}

static Brackets findBrackets(StringRef text) {
  Brackets found;
  std::vector<bool> open; // whether they look ahead
  size_t ahead = 0;       // of these
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '[') {
      at = skipClass(text, at);
    } else if (text[at] == '(') {
      open.push_back(looksAhead(text.drop_front(at)));
      ahead += open.back();
      found.looks += open.back();
    } else if (text[at] == ')' && !open.empty()) {
      ahead -= open.back();
      open.pop_back();
    }
    found.deepest = std::max(found.deepest, open.size());
    found.deepestAhead = std::max(found.deepestAhead, ahead);
  }
  return found;
}

std::string whyNotRead(StringRef expression) {
  if (expression.size() > kMostCharacters)
    return "it has " + std::to_string(expression.size()) +
           " characters, expected at most " + std::to_string(kMostCharacters);
  const Brackets brackets = findBrackets(expression);
  if (brackets.deepest > kMostNesting)
    return "it has brackets nested " + std::to_string(brackets.deepest) +
           " deep, expected at most " + std::to_string(kMostNesting);
  if (brackets.deepestAhead > 1)
    return "it looks ahead, (?=...) or (?!...), within what it looks ahead "
           "for, which may take forever";
  if (brackets.looks > kMostLooks)
    return "it looks ahead, (?=...) or (?!...), " +
           std::to_string(brackets.looks) + " times, expected at most " +
           std::to_string(kMostLooks);
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
    return NamePattern(compile("[\\s\\S]*(?:" + text.str() + ")"),
                       findBrackets(text).deepestAhead > 0);
  } catch (const std::regex_error &error) {
    return refuse(text, error.what());
  }
}

bool NamePattern::isIn(StringRef name) const {
  if (looksAhead && name.size() > kMostCharacters)
    return false;
  return std::regex_search(name.begin(), name.end(), expression,
                           std::regex_constants::match_continuous);
}

} // namespace zc
