// The models that `zc plan --calibrate` compiles and runs.
#ifndef ZC_COMPILER_DRIVER_CALIBRATIONJOBS_H
#define ZC_COMPILER_DRIVER_CALIBRATIONJOBS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// A model with its samples.
struct CalibrationModel {
  std::string name, onnx;
  std::string input;                 // "tokens" of INT64, or "x" of FLOAT
  std::vector<int64_t> dims, labels; // of a batch
  int64_t classes;                   // tokens and labels are below
};
std::vector<CalibrationModel> listCalibrationModels(bool quick);

/// A model on so many ranks.
struct CalibrationJob {
  const CalibrationModel *model;
  std::vector<std::string> options; // of its layout
  int ranks;

  /// The arguments of `zc` that make an artifact of the model's file.
  std::vector<std::string> compileArguments(const std::string &onnx,
                                            const std::string &artifact) const;
};
/// One rank has all cores; of two, where there are as many, each has half of
/// them.
std::vector<CalibrationJob>
listCalibrationJobs(const std::vector<CalibrationModel> &models, bool quick);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_CALIBRATIONJOBS_H
