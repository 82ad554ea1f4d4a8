//===- Notes.cpp - what a compilation tells the user ----------------------===//
#include "dialects/Dist/Notes.h"

#include "dialects/Dist/DistDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace zc::dist {

void addNote(Operation *module, const Twine &text) {
  SmallVector<Attribute> notes;
  if (auto old = module->getAttrOfType<ArrayAttr>(kNotesAttr))
    llvm::append_range(notes, old);
  notes.push_back(StringAttr::get(module->getContext(), text));
  module->setAttr(kNotesAttr, ArrayAttr::get(module->getContext(), notes));
}

std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t kMost = 6;
  std::string text = llvm::join(names.take_front(kMost), ", ");
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

} // namespace zc::dist
