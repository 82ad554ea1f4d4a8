//===- NamePattern.h - expressions that find names --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_INTERFACES_NAMEPATTERN_H
#define ZC_DIALECTS_INTERFACES_NAMEPATTERN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <regex>

namespace zc {

/// A regular expression of the user's (ECMAScript's, without back-references),
/// which is searched in the names of parameters, values and nodes. Both come
/// from anywhere: a search takes time in proportion to the name's length, and
/// neither deep brackets nor long names take the stack. One that looks ahead,
/// (?=...) or (?!...), takes the square of that time: it may not look ahead
/// within what it looks ahead for, and is found in no name of more than 4096
/// characters.
class NamePattern {
public:
  /// Fails where the text is no expression, or is one of those below; the
  /// message quotes it.
  static llvm::Expected<NamePattern> parse(llvm::StringRef text);

  bool isIn(llvm::StringRef name) const;

private:
  NamePattern(std::regex expression, bool looksAhead)
      : expression(std::move(expression)), looksAhead(looksAhead) {}

  std::regex expression; // with whatever stands before it
  bool looksAhead;
};

/// Why an expression, of any kind, is not read: it is longer than 4096
/// characters, has brackets nested more than 100 deep, or looks ahead within
/// what it looks ahead for. Empty: it is read.
std::string whyNotRead(llvm::StringRef expression);

/// The text for a message: of a long one its begin.
std::string quoteExpression(llvm::StringRef expression);

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_NAMEPATTERN_H
