//===- Libraries.cpp ------------------------------------------------------===//
#include "passes/Target/Libraries.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace zc {

Expected<Libraries> Libraries::parse(StringRef list, StringRef device,
                                     ArrayRef<LibraryName> names) {
  Libraries libraries;
  auto addAll = [&] {
    for (const LibraryName &each : names)
      if (each.byDefault)
        libraries.allowed.insert(each.name);
  };
  SmallVector<StringRef> words;
  list.split(words, ',');
  if (words.front().trim().starts_with("-"))
    addAll();
  for (StringRef word : words) {
    word = word.trim();
    StringRef name = word;
    bool isLeftOut = name.consume_front("-");
    auto has = [&](const LibraryName &each) { return each.name == name; };
    if (word == "all")
      addAll();
    else if (word == "none")
      libraries.allowed.clear();
    else if (none_of(names, has))
      return createStringError(
          "'" + word + "' is no library call of device " + device +
          "; expected all, none, or of these, with - before what is left "
          "out: " +
          join(map_range(names, [](auto &each) { return each.name; }), ", "));
    else if (isLeftOut)
      libraries.allowed.erase(name);
    else
      libraries.allowed.insert(name);
  }
  return libraries;
}

} // namespace zc
