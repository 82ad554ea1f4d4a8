// Expressions that find names: what they find, and that neither they nor names
// take the stack or forever.
#include "dialects/Interfaces/NamePattern.h"

#include <gtest/gtest.h>

namespace zc::test {
namespace {

bool finds(llvm::StringRef text, llvm::StringRef name) {
  llvm::Expected<NamePattern> pattern = NamePattern::parse(text);
  if (!pattern) {
    ADD_FAILURE() << llvm::toString(pattern.takeError());
    return false;
  }
  return pattern->isIn(name);
}

std::string refusal(llvm::StringRef text) {
  llvm::Expected<NamePattern> pattern = NamePattern::parse(text);
  return pattern ? "" : llvm::toString(pattern.takeError());
}

std::string repeated(llvm::StringRef part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += part;
  return text;
}

/// It agrees with std::regex's usual way of searching.
TEST(NamePattern, FindsWhatStdRegexFinds) {
  const char *patterns[] = {"",         "fc",     "^fc",      "weight$",
                            "a|^b",     "\\.",    "[0-3]\\.", "(h|x)\\.1\\b",
                            "^(?!fc)",  "^$",     "b.*t",     "(a*)*c",
                            "w{1,2}e",  "\\d+",   "[^a-z.]",  "fc\\.(w|b)",
                            "(fc|h)+?", "\\bfc$", ".",        "^a|c$"};
  const char *names[] = {"",       "fc",          "fc.weight", "h.1.weight",
                         "x.bias", "layers.10.w", "abc",       "a\nc",
                         "wwe",    "Fc",          "c"};
  for (const char *pattern : patterns)
    for (const char *name : names)
      EXPECT_EQ(finds(pattern, name),
                std::regex_search(name, std::regex(pattern)))
          << pattern << " in " << name;
}

TEST(NamePattern, DeepBracketsAreRefused) {
  const std::string deep = repeated("(", 30000) + "fc" + repeated(")", 30000);
  EXPECT_EQ(refusal(deep),
            "'" + repeated("(", 80) +
                "...' is not a regular expression: it has 60002 characters, "
                "expected at most 4096");
  EXPECT_NE(refusal(repeated("(", 200) + repeated(")", 200))
                .find("nested 200 deep, expected at most 100"),
            std::string::npos);
  EXPECT_TRUE(finds(repeated("(", 100) + "c" + repeated(")", 100), "fc"));
  EXPECT_EQ(refusal(repeated("\\(", 200)), "");
  // Brackets of a class of characters open and close nothing.
  EXPECT_EQ(refusal("[" + repeated("(", 200) + "]"), "");
  EXPECT_NE(refusal(repeated("([)[:alpha:]\\])]", 200) + repeated(")", 200))
                .find("nested 200 deep"),
            std::string::npos);
}

/// Each level multiplies the time by nine: five take 3 s on such a name.
TEST(NamePattern, LookingAheadWithinWhatIsLookedAheadFor) {
  std::string nested = "q";
  for (int level = 0; level < 2; ++level) {
    EXPECT_EQ(finds(nested, "layers.0.attention.q"), true) << nested;
    nested = "(?=.*" + nested + ")";
  }
  EXPECT_NE(refusal(nested).find("within what it looks ahead for"),
            std::string::npos);
  EXPECT_NE(refusal("(?!a(b(?=c)))"), "");
  EXPECT_EQ(refusal("(?!a)(?=b)"), "");
  EXPECT_EQ(refusal("(?=[(?=])(?!b)"), "");
  const std::string name = std::string(4095, 'a') + "q";
  EXPECT_TRUE(finds("(?=q)q$", name));
  EXPECT_FALSE(finds("(?=q)q$", name + "q"));
  EXPECT_TRUE(finds("q$", name + "q"));
}

/// Each takes the square of a name's length again.
TEST(NamePattern, LookingAheadManyTimes) {
  EXPECT_TRUE(finds(repeated("(?=.*q)", 8) + "q", "q"));
  EXPECT_NE(refusal(repeated("(?=.*q)", 9)).find("9 times, expected at most 8"),
            std::string::npos);
  EXPECT_NE(refusal(repeated("(?!q)|", 9)), "");
  EXPECT_EQ(refusal(repeated("(?:q)", 9) + repeated("\\(?=q", 9)), "");
}

TEST(NamePattern, WhatIsNoExpressionIsRefused) {
  for (const char *text : {"(", "a)(b", "*", "[a", "a{2", "(?<", "\\"})
    EXPECT_NE(refusal(text).find("is not a regular expression"),
              std::string::npos)
        << text;
  // Would have to try one choice after the other.
  EXPECT_NE(refusal("(a)\\1"), "");
  EXPECT_NE(refusal("((a?){255}){100}"), "");
}

/// A search that calls itself for each character needs 30 MiB for the first,
/// one that tries all choices 2^40 turns for the second.
TEST(NamePattern, LongNames) {
  EXPECT_FALSE(finds(".*x$", std::string(100000, 'a')));
  EXPECT_FALSE(finds("(a*)*b", std::string(40, 'a') + "c"));
}

} // namespace
} // namespace zc::test
