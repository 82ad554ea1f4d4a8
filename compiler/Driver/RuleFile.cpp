#include "compiler/Driver/RuleFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

llvm::Expected<std::string> zc::parseRuleFile(llvm::StringRef text,
                                              llvm::StringRef path) {
  std::string rules;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (auto [index, line] : llvm::enumerate(lines)) {
    line = line.split('#').first.trim();
    if (line.empty())
      continue;
    size_t gap = line.find_last_of(" \t");
    if (gap == llvm::StringRef::npos)
      return llvm::createStringError(
          path + ":" + llvm::Twine(index + 1) +
          ": expected a regular expression and, for each dim, an axis or '-', "
          "as in 'fc.weight tp,-'; found '" +
          line + "'");
    rules +=
        (line.take_front(gap).rtrim() + "=" + line.drop_front(gap + 1)).str() +
        "\n";
  }
  return rules;
}
