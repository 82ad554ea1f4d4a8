//===- TemporaryFile.cpp - what other programs read and write -------------===//
#include "passes/Codegen/TemporaryFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace zc {

std::string &temporaryPrefix() {
  static std::string prefix = "zc-kernels";
  return prefix;
}

TemporaryFile::TemporaryFile(llvm::StringRef suffix) {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  std::error_code failure =
      llvm::sys::fs::createTemporaryFile(temporaryPrefix(), suffix, place);
  if (failure) {
    place.clear();
    why = "cannot create a temporary file in '" + folder.str().str() +
          "' (TMPDIR): " + failure.message();
  } else {
    llvm::sys::RemoveFileOnSignal(place);
  }
}

TemporaryFile::~TemporaryFile() {
  if (place.empty())
    return;
  llvm::sys::fs::remove(place);
  llvm::sys::DontRemoveFileOnSignal(place);
}

bool TemporaryFile::write(llvm::ArrayRef<char> bytes,
                          std::string &error) const {
  error = why;
  if (place.empty())
    return false;
  std::error_code failure;
  llvm::raw_fd_ostream stream(place, failure);
  stream.write(bytes.data(), bytes.size());
  stream.close();
  if (stream.has_error())
    failure = stream.error();
  stream.clear_error();
  if (failure)
    error = "cannot write the temporary file '" + place.str().str() +
            "' (TMPDIR): " + failure.message();
  return !failure;
}

bool TemporaryFile::read(std::string &bytes, std::string &error) const {
  error = why;
  if (place.empty())
    return false;
  auto buffer = llvm::MemoryBuffer::getFile(place);
  if (!buffer) {
    error = "cannot read the temporary file '" + place.str().str() +
            "': " + buffer.getError().message();
    return false;
  }
  bytes = (*buffer)->getBuffer().str();
  return true;
}

} // namespace zc
