// ONNX's test data, computed by zc and compared.
#ifndef ZC_COMPILER_DRIVER_VERIFY_H
#define ZC_COMPILER_DRIVER_VERIFY_H

#include <string>
#include <vector>

namespace zc {

struct VerifyOptions {
  std::vector<std::string> folders; // each with a model.onnx
  double relative = 1e-3, absolute = 1e-7;
  std::string outputDir; // empty: what is computed is not kept
};

/// How one test set went.
struct Verdict {
  std::string set; // its folder
  /// Why it failed; empty when it passed.
  std::string reason = {};
  bool compared = false; // or else there are no errors
  /// The largest errors; NaN or infinite where only one side is.
  double absolute = 0, relative = 0;

  bool passed() const { return reason.empty(); }
};

/// Every test set of a folder, in order of their names.
std::vector<Verdict> verifyFolder(const std::string &folder,
                                  const VerifyOptions &options);

} // namespace zc

#endif
