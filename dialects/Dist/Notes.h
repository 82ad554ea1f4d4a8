//===- Notes.h - what a compilation tells the user --------------*- C++ -*-===//
#ifndef ZC_DIALECTS_DIST_NOTES_H
#define ZC_DIALECTS_DIST_NOTES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace zc::dist {

/// Adds a note for the user to those of `module` (kNotesAttr, a list of texts);
/// the summary of a compilation prints them.
void addNote(mlir::Operation *module, const llvm::Twine &text);

/// "a, b and 3 more": the first six names.
std::string listNames(llvm::ArrayRef<std::string> names);

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_NOTES_H
