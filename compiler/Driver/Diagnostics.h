// How the compiler speaks to its user.
#ifndef ZC_COMPILER_DRIVER_DIAGNOSTICS_H
#define ZC_COMPILER_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>

namespace zc {

/// Prints MLIR's diagnostics on stderr as
///   zc: error: model.onnx: node 'x' (Conv) in layers.0.conv: message
/// while it lives.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext *context);

  unsigned getNumErrors() const { return errors; }
  /// Nothing is printed from now on; the first error is kept.
  void keepSilent() { silent = true; }
  bool isSilent() const { return silent; }
  const std::string &getFirstError() const { return firstError; }
  /// While set, errors are faults of zc itself, found `where`; "" ends that.
  void setInternal(std::string where) { internal = std::move(where); }

private:
  void print(mlir::Diagnostic &diagnostic);

  mlir::ScopedDiagnosticHandler handler;
  std::mutex mutex; // passes run on several threads
  unsigned errors = 0;
  bool silent = false;
  std::string firstError;
  std::string internal;
};

/// "zc: error: message" on stderr; returns the exit code 1.
int reportError(const std::string &message);

} // namespace zc

#endif
