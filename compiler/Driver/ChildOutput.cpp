#include "compiler/Driver/ChildOutput.h"

#include "runtime/Base/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace zc;

/// LLVM opens it as it is: a shorter text would keep the end of a longer one.
static std::optional<llvm::StringRef> clearFile(const std::string &file) {
  llvm::sys::fs::remove(file);
  return llvm::StringRef(file);
}

Status zc::runToFiles(const std::string &program,
                      const std::vector<std::string> &arguments,
                      const std::string &output, const std::string &messages) {
  constexpr unsigned kMostSeconds = 300;
  std::vector<llvm::StringRef> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), clearFile(output), clearFile(messages)};
  std::string why;
  if (llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects,
                                kMostSeconds, 0, &why) == 0)
    return Status();
  Result<std::string> said = readFile(messages, 1 << 20);
  return makeError(StatusCode::Internal, "zc ", arguments.front(),
                   " failed: ", why, said.ok() ? *said : "");
}
