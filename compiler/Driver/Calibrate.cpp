#include "compiler/Driver/Calibrate.h"

#include "compiler/Driver/ClusterNames.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Process.h"
#include "compiler/OnnxModel/CalibrationModels.h"
#include "compiler/Plan/Calibration.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace zc;

namespace {

/// A model with its samples.
struct Model {
  std::string name, onnx;
  std::string input;
  std::vector<int64_t> dims, labels; // of a batch
  int64_t classes;
};

struct Job {
  const Model *model;
  std::vector<std::string> options;
  int ranks;
};

Model makeLanguage(const std::string &name, const LanguageSizes &sizes) {
  const std::vector<int64_t> dims = {sizes.batch, sizes.length};
  return {name, makeLanguageModel(sizes), "tokens", dims,
          dims, sizes.vocabulary};
}

Model makeDense(const std::string &name, int64_t batch,
                const std::vector<int64_t> &widths, const char *activation) {
  return {name,    makeDenseModel(batch, widths, activation),
          "x",     {batch, widths.front()},
          {batch}, widths.back()};
}

Model makeImage(const std::string &name, const ImageSizes &sizes) {
  return {name,          makeImageModel(sizes),
          "x",           {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch}, sizes.classes};
}

Model makePixels(const std::string &name, const ImageSizes &sizes) {
  return {name,
          makePixelModel(sizes),
          "x",
          {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch, sizes.size, sizes.size},
          sizes.classes};
}

Model makePatches(const std::string &name, const PatchSizes &sizes) {
  return {name,          makePatchModel(sizes),
          "x",           {sizes.batch, 3, sizes.size, sizes.size},
          {sizes.batch}, sizes.classes};
}

std::vector<Model> listModels(bool quick) {
  constexpr auto kGated = LanguageSizes::GatedDecoder;
  constexpr auto kEncoder = LanguageSizes::Encoder;
  std::vector<Model> models;
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

/// One rank has all cores; of two, each has half of them.
std::vector<Job> listJobs(const std::vector<Model> &models, bool quick) {
  std::vector<Job> jobs;
  const bool hasRoom = std::thread::hardware_concurrency() >= 2;
  for (const Model &model : models) {
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

/// A folder of its own, removed in the end.
class Folder {
public:
  Status create() {
    ZC_ASSIGN_OR_RETURN(path, makeTemporaryFolder("zc-calibrate"));
    return Status();
  }
  ~Folder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string at(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

Status writeBytes(const std::string &path, const std::string &bytes) {
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  ZC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  return file.commit();
}

template <typename T>
std::string arrayOf(plan::DataType type, const std::vector<int64_t> &dims,
                    int64_t below) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  std::vector<T> values;
  uint32_t state = 1; // of a linear congruential generator
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 1664525U + 1013904223U;
    const uint32_t drawn = state >> 8;
    values.push_back(below > 0 ? T(int64_t(drawn) % below)
                               : T(double(drawn) / (1 << 23) - 1));
  }
  std::string text = makeNpyHeader(type, dims);
  text.append(reinterpret_cast<const char *>(values.data()),
              values.size() * sizeof(T));
  return text;
}

class Calibrator {
public:
  Calibrator(const CalibrateOptions &options, Calibration &calibration)
      : options(options), calibration(calibration),
        models(listModels(options.quick)),
        jobs(listJobs(models, options.quick)) {}

  Status run() {
    ZC_RETURN_IF_ERROR(folder.create());
    for (const Model &model : models)
      ZC_RETURN_IF_ERROR(writeModel(model));
    for (size_t i = 0; i < jobs.size(); ++i) {
      tell("compiling", i);
      ZC_RETURN_IF_ERROR(compileJob(i));
    }
    // Round after round: what disturbs one of them does not last for all.
    const int rounds = options.quick ? 2 : 3;
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < jobs.size(); ++i) {
        tell("running", size_t(round) * jobs.size() + i);
        ZC_RETURN_IF_ERROR(runJob(i));
      }
      if (jobs.back().ranks > 1)
        ZC_RETURN_IF_ERROR(measureLinks());
    }
    if (isatty(STDERR_FILENO))
      llvm::errs() << "\r\33[K";
    return Status();
  }

private:
  void tell(const char *doing, size_t done) const {
    if (isatty(STDERR_FILENO))
      llvm::errs() << "\r\33[K" << doing << " " << done + 1;
  }

  Status writeModel(const Model &model) {
    ZC_RETURN_IF_ERROR(writeBytes(folder.at(model.name + ".onnx"), model.onnx));
    const std::string data = folder.at(model.name);
    if (auto error = llvm::sys::fs::create_directory(data))
      return makeError(StatusCode::Internal, "cannot make ", data, ": ",
                       error.message());
    const bool isText = model.input == "tokens";
    ZC_RETURN_IF_ERROR(writeBytes(
        data + "/" + model.input + ".npy",
        isText ? arrayOf<int64_t>(plan::I64, model.dims, model.classes)
               : arrayOf<float>(plan::F32, model.dims, 0)));
    return writeBytes(data + "/labels.npy",
                      arrayOf<int64_t>(plan::I64, model.labels, model.classes));
  }

  /// Fails with what the program says where it fails.
  Status execute(const std::string &program,
                 const std::vector<std::string> &arguments,
                 const std::string &output = "") const {
    constexpr unsigned kMostSeconds = 300;
    std::vector<llvm::StringRef> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const std::string messages = folder.at("messages");
    // A redirection writes over a file, and leaves the end of a longer one.
    for (const std::string &old : {output, messages})
      if (!old.empty())
        llvm::sys::fs::remove(old);
    const std::optional<llvm::StringRef> redirects[] = {
        llvm::StringRef(""),
        output.empty() ? llvm::StringRef("") : llvm::StringRef(output),
        llvm::StringRef(messages)};
    std::string why;
    if (llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects,
                                  kMostSeconds, 0, &why) == 0)
      return Status();
    Result<std::string> said = readFile(messages, 1 << 20);
    return makeError(StatusCode::Internal, "zc ", arguments.front(),
                     " failed: ", why, said.ok() ? *said : "");
  }

  std::string artifactOf(size_t job) const {
    return folder.at("job" + std::to_string(job) + ".zca");
  }

  Status compileJob(size_t index) const {
    const Job &job = jobs[index];
    std::vector<std::string> arguments = {
        "compile", folder.at(job.model->name + ".onnx"),
        "-o",      artifactOf(index),
        "--init",  "normal:0.02",
        "--loss",  "softmax-cross-entropy"};
    arguments.insert(arguments.end(), job.options.begin(), job.options.end());
    return execute(findCompiler(), arguments);
  }

  Status runJob(size_t index) {
    const int steps = options.quick ? 16 : 60;
    const std::string trace = folder.at("trace.json");
    ZC_RETURN_IF_ERROR(execute(
        findRunner(),
        {"run", artifactOf(index), "--data", folder.at(jobs[index].model->name),
         "--steps", std::to_string(steps), "--quiet", "--local-ranks",
         std::to_string(jobs[index].ranks), "--trace", trace, "--trace-steps",
         "5:" + std::to_string(steps)}));
    ZC_ASSIGN_OR_RETURN(const Artifact artifact,
                        Artifact::load(artifactOf(index),
                                       /*checkWeights=*/false));
    ZC_ASSIGN_OR_RETURN(const std::string text, readFile(trace, 1 << 30));
    return calibration.addRun(artifact.manifest(), text);
  }

  Status measureLinks() {
    const std::string output = folder.at("links.json");
    ZC_RETURN_IF_ERROR(execute(findRunner(),
                               {"links", "--local-ranks", "2", "--most",
                                options.quick ? "1048576" : "67108864",
                                "--seconds", options.quick ? "0.01" : "0.1"},
                               output));
    ZC_ASSIGN_OR_RETURN(const std::string text, readFile(output, 1 << 20));
    return calibration.addLinks(text);
  }

  const CalibrateOptions options;
  Calibration &calibration;
  const std::vector<Model> models;
  const std::vector<Job> jobs;
  Folder folder;
};

std::string nameOfProcessor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != line.npos)
      return line.substr(line.find(": ") + 2);
  return "CPU";
}

Calibration::Machine examineHere(bool quick) {
  Calibration::Machine machine;
  machine.name = nameOfProcessor();
  machine.cores = std::max(1U, std::thread::hardware_concurrency());
  machine.memoryBytes =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  const std::time_t now = std::time(nullptr);
  char day[32] = "";
  if (std::tm parts; gmtime_r(&now, &parts))
    std::strftime(day, sizeof(day), "%Y-%m-%d", &parts);
  double load = 0;
  std::ostringstream text;
  text << "zc plan --calibrate" << (quick ? " --quick" : "") << ", " << day
       << ", " << machine.cores << " cores";
  if (getloadavg(&load, 1) == 1)
    text << ", load average before it " << load;
  machine.sources = {text.str()};
  return machine;
}

} // namespace

static Result<std::string> measure(const CalibrateOptions &options,
                                   std::string &path) {
  path = options.output;
  if (path.empty()) {
    ZC_ASSIGN_OR_RETURN(path, hereFile());
    if (auto error = llvm::sys::fs::create_directories(
            llvm::sys::path::parent_path(path)))
      return makeError(StatusCode::NotFound, "cannot make the folder of '",
                       path, "': ", error.message());
  }
  // A place that cannot be written to is told before minutes of work.
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  Calibration calibration(examineHere(options.quick));
  ZC_RETURN_IF_ERROR(Calibrator(options, calibration).run());
  ZC_ASSIGN_OR_RETURN(const std::string text, calibration.finish());
  ZC_RETURN_IF_ERROR(file.write(text.data(), text.size()));
  ZC_RETURN_IF_ERROR(file.commit());
  return calibration.printRuns();
}

int zc::calibrate(const CalibrateOptions &options) {
  std::string path;
  Result<std::string> runs = measure(options, path);
  if (!runs.ok())
    return reportError(runs.status().message());
  llvm::outs() << *runs << "wrote " << path << "\n";
  llvm::outs().flush();
  return 0;
}
