//===- Notes.cpp - what a compilation tells the user ----------------------===//
#include "dialects/Dist/Notes.h"

#include "dialects/Dist/DistDialect.h"

using namespace mlir;

namespace zc::dist {

void addNote(Operation *module, const Twine &text) {
  SmallVector<Attribute> notes;
  if (auto old = module->getAttrOfType<ArrayAttr>(kNotesAttr))
    llvm::append_range(notes, old);
  notes.push_back(StringAttr::get(module->getContext(), text));
  module->setAttr(kNotesAttr, ArrayAttr::get(module->getContext(), notes));
}

} // namespace zc::dist
