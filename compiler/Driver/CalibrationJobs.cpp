#include "compiler/Driver/CalibrationJobs.h"

#include "compiler/OnnxModel/CalibrationModels.h"
#include "runtime/Base/Cores.h"

using namespace zc;

namespace {

CalibrationModel makeLanguage(const std::string &name,
                              const LanguageSizes &sizes) {
  const std::vector<int64_t> dims = {sizes.batch, sizes.length};
  return {name, makeLanguageModel(sizes), "tokens", dims,
          dims, sizes.vocabulary};
}

CalibrationModel makeDense(const std::string &name, int64_t batch,
                           const std::vector<int64_t> &widths,
                           const char *activation) {
  return {name,    makeDenseModel(batch, widths, activation),
          "x",     {batch, widths.front()},
          {batch}, widths.back()};
}

CalibrationModel makeImage(const std::string &name, const ImageSizes &sizes) {
  return {name,          makeImageModel(sizes),
          "x",           {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch}, sizes.classes};
}

CalibrationModel makePixels(const std::string &name, const ImageSizes &sizes) {
  return {name,
          makePixelModel(sizes),
          "x",
          {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch, sizes.size, sizes.size},
          sizes.classes};
}

CalibrationModel makePatches(const std::string &name, const PatchSizes &sizes) {
  return {name,          makePatchModel(sizes),
          "x",           {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch}, sizes.classes};
}

} // namespace

std::vector<CalibrationModel> zc::listCalibrationModels(bool quick) {
  constexpr auto kGated = LanguageSizes::GatedDecoder;
  constexpr auto kEncoder = LanguageSizes::Encoder;
  std::vector<CalibrationModel> models;
  models.push_back(makeLanguage("language", {8, 64, 128, 4, 2, 512}));
  if (quick)
    return models;
  models.push_back(makeLanguage("wide", {4, 128, 256, 4, 2, 2048}));
  models.push_back(makeLanguage("gated", {8, 48, 160, 5, 2, 1024, kGated}));
  models.push_back(makeDense("relu", 64, {256, 1024, 512, 2048, 128}, "Relu"));
  models.push_back(makeDense("tanh", 256, {512, 384, 1536, 96, 32}, "Tanh"));
  models.push_back(makeImage("image", {8, 32, 16, 3, 10}));
  models.push_back(makeImage("large-image", {4, 48, 32, 3, 100}));
  models.push_back(makePixels("pixels", {8, 32, 16, 2, 4}));
  models.push_back(makePatches("patches", {32, 36, 6, 64, 4, 2, 10}));
  // Narrow layers do less for each byte, and for each call.
  models.push_back(makeLanguage("short", {64, 14, 28, 2, 1, 64}));
  models.push_back(makeLanguage("narrow", {24, 32, 64, 4, 1, 160, kGated}));
  models.push_back(makeLanguage("encoder", {200, 11, 30, 3, 1, 16, kEncoder}));
  models.push_back(makeLanguage("heads", {96, 20, 40, 8, 1, 24, kEncoder}));
  models.push_back(makeLanguage("many", {256, 14, 32, 4, 1, 12, kEncoder}));
  models.push_back(makeLanguage("tiny", {384, 8, 16, 4, 1, 10, kEncoder}));
  models.push_back(makeDense("thin", 3000, {12, 24, 40, 20, 8}, "Sigmoid"));
  models.push_back(makeDense("slim", 700, {48, 160, 72, 100, 30}, "Gelu"));
  models.push_back(makeImage("few-channels", {24, 16, 4, 2, 5}));
  models.push_back(makeImage("small-image", {12, 24, 10, 3, 8}));
  models.push_back(makePixels("few-pixels", {24, 12, 6, 2, 5}));
  models.push_back(makePixels("thin-pixels", {48, 20, 10, 1, 2}));
  models.push_back(makePatches("few-patches", {160, 12, 4, 40, 2, 1, 6}));
  models.push_back(makePatches("small-patches", {320, 20, 4, 18, 3, 1, 12}));
  return models;
}

std::vector<CalibrationJob>
zc::listCalibrationJobs(const std::vector<CalibrationModel> &models,
                        bool quick) {
  std::vector<CalibrationJob> jobs;
  const bool hasRoom = usableCores() >= 2;
  for (const CalibrationModel &model : models) {
    const bool isLanguage = model.input == "tokens";
    jobs.push_back({&model, {}, 1});
    if (!hasRoom)
      continue;
    jobs.push_back({&model, {"--mesh", "dp=2"}, 2});
    if (quick)
      continue;
    jobs.push_back({&model, {"--mesh", "dp=2", "--zero", "3"}, 2});
    jobs.push_back({&model, {"--mesh", "pp=2", "--accumulate", "2"}, 2});
    jobs.push_back({&model, {"--mesh", "tp=2"}, 2});
    if (isLanguage)
      jobs.push_back({&model, {"--accumulate", "2"}, 1});
  }
  return jobs;
}

std::vector<std::string>
CalibrationJob::compileArguments(const std::string &onnx,
                                 const std::string &artifact) const {
  std::vector<std::string> arguments = {
      "compile", onnx,          "-o",     artifact,
      "--init",  "normal:0.02", "--loss", "softmax-cross-entropy"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return arguments;
}
