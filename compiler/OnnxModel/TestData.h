// ONNX's layout of test data: model.onnx beside test_data_set_*/input_*.pb and
// output_*.pb, each a tensor.
#ifndef ZC_COMPILER_ONNXMODEL_TESTDATA_H
#define ZC_COMPILER_ONNXMODEL_TESTDATA_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zc {

/// One input or output of a test.
struct TestTensor {
  std::string name; // in the model
  std::string path; // of the .pb file
  int32_t dataType = 0;
  std::vector<int64_t> dims;
  std::string bytes; // little-endian, row-major
};

struct TestSet {
  std::vector<TestTensor> inputs, outputs;
  /// Sizes of the model's symbolic dims, as the inputs have them.
  std::map<std::string, int64_t> dims;
};

/// The set in the folder `path` for the model in the file `model`.
llvm::Expected<TestSet> readTestSet(const std::string &model,
                                    const std::string &path);

/// How NumPy calls an element type ("<f4"); empty for those it does not have.
std::string getNumpyType(int32_t dataType);

} // namespace zc

#endif
