// Observes every pass for --dump-ir and -v.
#ifndef ZC_COMPILER_DRIVER_PASSOBSERVER_H
#define ZC_COMPILER_DRIVER_PASSOBSERVER_H

#include "compiler/Driver/PassTimes.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace zc {

/// After every pass on the whole module, writes a numbered IR file into
/// `folder` (unless it is empty) and, when `verbose`, prints its name and time;
/// adds up the times of all.
class PassObserver : public mlir::PassInstrumentation {
public:
  PassObserver(std::string folder, bool verbose, unsigned &dumped,
               PassTimes &times)
      : folder(std::move(folder)), verbose(verbose), dumped(dumped),
        times(times) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  std::string folder;
  bool verbose;
  unsigned &dumped;
  PassTimes &times;
  std::mutex mutex;
  std::map<mlir::Pass *, std::chrono::steady_clock::time_point> started;
};

/// Writes `op` as FOLDER/NN-name.mlir and counts `dumped` up.
void dumpIr(mlir::Operation *op, const std::string &folder,
            llvm::StringRef name, unsigned &dumped);

} // namespace zc

#endif
