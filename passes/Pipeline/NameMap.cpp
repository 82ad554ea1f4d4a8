//===- NameMap.cpp - names of one role as those of another ----------------===//
#include "passes/Pipeline/NameMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace zc {

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Whether a name can be told from numbers and from the words of attributes:
/// it has both a digit and a letter.
static bool isDistinct(StringRef name) {
  return llvm::any_of(name, llvm::isDigit) &&
         llvm::any_of(name, llvm::isAlpha) && isWord(name.front()) &&
         isWord(name.back()) && !name.starts_with("role") &&
         !name.starts_with("flight.");
}

bool NameMap::addOne(StringRef from, StringRef to) {
  auto known = names.find(from);
  if (known != names.end())
    return known->second == to;
  if (from != to && (!isDistinct(from) || !isDistinct(to)))
    return false;
  names[from] = to.str();
  return taken.insert(to).second;
}

bool NameMap::add(StringRef from, StringRef to) {
  if (from.empty() || to.empty())
    return from == to;
  if (!addOne(from, to))
    return false;
  // The modules: "h.1" of "h.1.attn".
  if (from.count('.') != to.count('.'))
    return true;
  for (size_t i = from.find('.'), j = to.find('.'); i != StringRef::npos;
       i = from.find('.', i + 1), j = to.find('.', j + 1))
    if (i > 0 && j > 0 && !addOne(from.take_front(i), to.take_front(j)))
      return false;
  return true;
}

void NameMap::setRoles(int64_t from, int64_t to) {
  fromRole = "role" + std::to_string(from);
  toRole = "role" + std::to_string(to);
}

std::string NameMap::apply(StringRef text) const {
  std::string result;
  size_t i = 0;
  while (i < text.size()) {
    bool begins = isWord(text[i]) && (i == 0 || !isWord(text[i - 1]));
    StringRef rest = text.drop_front(i);
    size_t length = 0;
    StringRef other;
    if (begins && rest.starts_with(fromRole) && rest.size() > fromRole.size() &&
        (rest[fromRole.size()] == '_' || rest[fromRole.size()] == '.')) {
      length = fromRole.size();
      other = toRole;
    }
    for (size_t end = rest.size(); begins && length == 0 && end > 0; --end) {
      if (end < rest.size() && isWord(rest[end]) && isWord(rest[end - 1]))
        continue;
      if (auto known = names.find(rest.take_front(end)); known != names.end()) {
        length = end;
        other = known->second;
      }
    }
    if (length == 0) {
      result += text[i++];
      continue;
    }
    result += other;
    i += length;
  }
  return result;
}

} // namespace zc
