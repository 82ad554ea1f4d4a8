#include "compiler/Driver/TextOutput.h"

#include "compiler/Driver/Diagnostics.h"
#include "runtime/Base/File.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

std::string zc::printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo());
  os << '\n';
  return text;
}

int zc::emitText(const std::string &path, const std::string &text) {
  if (!path.empty()) {
    Status status = writeFile(path, text);
    return status.ok() ? 0 : reportError(status.message());
  }
  llvm::outs() << text;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return 0;
  llvm::outs().clear_error();
  return reportError("cannot write to standard output");
}
