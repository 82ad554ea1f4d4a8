#include "compiler/Driver/EmptyOutputs.h"

#include "compiler/Driver/Diagnostics.h"
#include "compiler/Interpreter/Npy.h"
#include "compiler/OnnxModel/TestData.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/StringExtras.h"

using namespace zc;

std::string zc::getOutputFile(const std::string &output) {
  std::string name = output;
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '.' && c != '_' && c != '-')
      c = '_';
  return name + ".npy";
}

bool zc::writeEmptyOutputs(const std::string &folder,
                           const std::vector<WithoutElements> &outputs) {
  if (outputs.empty())
    return true;
  if (Status status = makeDirectories(folder); !status.ok()) {
    reportError(status.message());
    return false;
  }
  for (const WithoutElements &output : outputs) {
    std::string file = folder + "/" + getOutputFile(output.name);
    if (llvm::Error error = interpreter::writeNpy(
            file, getNumpyType(output.dataType), output.dims, "")) {
      reportError(llvm::toString(std::move(error)));
      return false;
    }
  }
  return true;
}
