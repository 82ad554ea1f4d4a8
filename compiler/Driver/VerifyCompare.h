// Whether computed arrays are the expected ones.
#ifndef ZC_COMPILER_DRIVER_VERIFYCOMPARE_H
#define ZC_COMPILER_DRIVER_VERIFYCOMPARE_H

#include "compiler/Driver/Verify.h"
#include "compiler/OnnxModel/TestData.h"

namespace zc {

/// Compares the .npy file `path` with `expected` as numpy.allclose does, NaN
/// being equal to NaN. Adds to the errors in `verdict` and says why it fails.
void compareOutput(const std::string &path, const TestTensor &expected,
                   const VerifyOptions &options, Verdict &verdict);

} // namespace zc

#endif
