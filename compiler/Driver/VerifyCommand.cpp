#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Verify.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <nlohmann/json.hpp>

using namespace zc;

static void printVerdict(const Verdict &verdict) {
  std::printf("%s %s", verdict.passed() ? "pass" : "fail", verdict.set.c_str());
  if (verdict.passed() || verdict.compared)
    std::printf(": largest error %.2g absolute, %.2g relative",
                std::abs(verdict.absolute), std::abs(verdict.relative));
  if (!verdict.passed())
    std::printf(": %s", verdict.reason.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

// Where nothing was compared there is no error: null.
static nlohmann::json toJson(const Verdict &verdict) {
  auto error = [&](double value) {
    bool known = verdict.passed() || verdict.compared;
    return known ? nlohmann::json(value) : nlohmann::json();
  };
  return {{"set", verdict.set},
          {"passed", verdict.passed()},
          {"absolute_error", error(verdict.absolute)},
          {"relative_error", error(verdict.relative)},
          {"reason", verdict.reason}};
}

static int verify(const VerifyOptions &options, bool json) {
  if (!options.outputDir.empty())
    if (Status status = makeDirectories(options.outputDir); !status.ok())
      return reportError(status.message());
  size_t passed = 0, total = 0;
  nlohmann::json sets = nlohmann::json::array();
  for (llvm::StringRef folder : options.folders)
    for (const Verdict &verdict :
         verifyFolder(folder.rtrim('/').str(), options)) {
      passed += verdict.passed();
      ++total;
      if (json)
        sets.push_back(toJson(verdict));
      else
        printVerdict(verdict);
    }
  if (json)
    std::printf(
        "%s\n",
        nlohmann::json{{"passed", passed}, {"total", total}, {"sets", sets}}
            .dump(1)
            .c_str());
  else
    std::printf("%zu of %zu test sets passed\n", passed, total);
  return passed == total ? 0 : 1;
}

Command zc::addVerifyCommand(CLI::App &command) {
  auto options = std::make_shared<VerifyOptions>();
  auto json = std::make_shared<bool>(false);
  command
      .add_option("folder", options->folders,
                  "folders with model.onnx and test_data_set_*")
      ->required()
      ->type_name("MODEL_DIR");
  command
      .add_option("--rtol", options->relative,
                  "largest relative error of a value")
      ->check(checkAmount);
  command
      .add_option("--atol", options->absolute,
                  "largest absolute error of a value, besides")
      ->check(checkAmount);
  command
      .add_option("--output-dir", options->outputDir,
                  "folder for what was computed, MODEL_DIR/SET/NAME.npy")
      ->type_name("DIR");
  command.add_flag("--json", *json, "as JSON");
  return [options, json] { return verify(*options, *json); };
}
