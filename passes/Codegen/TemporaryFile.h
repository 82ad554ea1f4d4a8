//===- TemporaryFile.h - what other programs read and write -----*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_TEMPORARYFILE_H
#define ZC_PASSES_CODEGEN_TEMPORARYFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace zc {

/// Prefix of the names of temporary files. The compiler adds a mark of its
/// process, before there are threads, so that the next one can remove the files
/// that a killed one left.
std::string &temporaryPrefix();

/// A file that is gone when the program leaves its scope, if only by a signal.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Both return false, and why in `error`.
  bool write(llvm::ArrayRef<char> bytes, std::string &error) const;
  bool read(std::string &bytes, std::string &error) const;

  llvm::StringRef path() const { return place; }

private:
  llvm::SmallString<128> place; // empty: it could not be made
  std::string why;              // in that case
};

} // namespace zc

#endif // ZC_PASSES_CODEGEN_TEMPORARYFILE_H
