// The models that a calibration runs compile: `zc plan --calibrate --quick`,
// which the end-to-end tests run, has one of them alone.
#include "compiler/Driver/CalibrationJobs.h"
#include "compiler/Driver/ChildOutput.h"
#include "compiler/Driver/Process.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>

namespace zc {
namespace {

/// The program beside this one.
std::string findZc() {
  llvm::SmallString<256> path(llvm::sys::path::parent_path(findCompiler()));
  llvm::sys::path::append(path, "zc");
  return path.str().str();
}

class CalibrationJobs : public testing::Test {
protected:
  void SetUp() override {
    Result<std::string> made = makeTemporaryFolder("zc-jobs");
    ASSERT_TRUE(made.ok());
    folder = *made;
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void compile(const CalibrationJob &job) {
    const std::string onnx = folder + "/model.onnx";
    std::ofstream(onnx, std::ios::binary) << job.model->onnx;
    std::vector<std::string> arguments =
        job.compileArguments(onnx, folder + "/model.zca");
    arguments.insert(arguments.end(), {"--verify", "off"});
    const Status status =
        runToFiles(findZc(), arguments, "", folder + "/messages");
    EXPECT_TRUE(status.ok()) << job.model->name << ": " << status.message();
  }

  std::string folder;
};

TEST_F(CalibrationJobs, EveryModelCompiles) {
  const std::vector<CalibrationModel> models =
      listCalibrationModels(/*quick=*/false);
  std::set<std::string> names;
  for (const CalibrationModel &model : models) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    compile({&model, {}, 1});
  }
  EXPECT_GE(names.size(), 20u);
}

/// One of each kind, in each of the layouts that it is timed in.
TEST_F(CalibrationJobs, EveryKindCompilesInEveryLayout) {
  const std::vector<CalibrationModel> models =
      listCalibrationModels(/*quick=*/false);
  const std::set<std::string> kinds = {
      "narrow", "tiny", "thin", "few-channels", "few-pixels", "few-patches"};
  size_t layouts = 0;
  for (const CalibrationJob &job : listCalibrationJobs(models, false))
    if (job.ranks > 1 && kinds.count(job.model->name)) {
      ++layouts;
      compile(job);
    }
  // A machine of one core times one rank alone.
  EXPECT_TRUE(layouts == 0 || layouts == 4 * kinds.size()) << layouts;
}

} // namespace
} // namespace zc
