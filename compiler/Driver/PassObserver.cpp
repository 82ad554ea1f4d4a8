#include "compiler/Driver/PassObserver.h"

#include "compiler/Driver/Diagnostics.h"
#include "dialects/Train/TrainDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;
using namespace zc;

// Adaptors run other passes and have no flag.
static bool isNamed(Pass *pass) { return !pass->getArgument().empty(); }

// In place of a number, where the folder takes no more: told of once.
constexpr unsigned kStopped = std::numeric_limits<unsigned>::max();

void zc::dumpIr(Operation *op, const std::string &folder, StringRef name,
                unsigned &dumped) {
  if (dumped == kStopped)
    return;
  std::string path =
      llvm::formatv("{0}/{1,0+3}-{2}.mlir", folder, dumped++, name).str();
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    op->print(file, OpPrintingFlags().enableDebugInfo());
    file << '\n';
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (!error)
    return;
  llvm::errs() << "zc: warning: cannot write '" << path
               << "': " << error.message() << "; no more IR is written\n";
  dumped = kStopped;
}

void PassObserver::runBeforePass(Pass *pass, Operation *) {
  std::lock_guard<std::mutex> lock(mutex);
  started[pass] = std::chrono::steady_clock::now();
}

void PassObserver::runAfterPass(Pass *pass, Operation *op) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isNamed(pass))
    return;
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - started[pass];
  times.add(pass->getArgument(), seconds.count());
  // Passes that run on every function are listed in the table at the end.
  if (verbose && !op->getParentOp())
    llvm::errs() << llvm::formatv("zc: {0,8:F3} s  {1}\n", seconds.count(),
                                  pass->getArgument());
  if (folder.empty() || !isa<ModuleOp>(op))
    return;
  std::string name = pass->getArgument().str();
  if (auto role = op->getAttrOfType<IntegerAttr>(train::kRoleAttr))
    dumpIr(op, folder, name + ".role" + std::to_string(role.getInt()), dumped);
  else if (!op->getParentOp())
    dumpIr(op, folder, name, dumped);
}
