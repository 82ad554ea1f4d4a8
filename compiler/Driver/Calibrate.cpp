#include "compiler/Driver/Calibrate.h"

#include "compiler/Driver/CalibrationJobs.h"
#include "compiler/Driver/ChildOutput.h"
#include "compiler/Driver/ClusterNames.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Process.h"
#include "compiler/Plan/Calibration.h"
#include "runtime/Base/Cores.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace zc;

namespace {

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
        models(listCalibrationModels(options.quick)),
        jobs(listCalibrationJobs(models, options.quick)) {}

  Status run() {
    ZC_RETURN_IF_ERROR(folder.create());
    for (const CalibrationModel &model : models)
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

  Status writeModel(const CalibrationModel &model) {
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
    return runToFiles(program, arguments, output, folder.at("messages"));
  }

  std::string artifactOf(size_t job) const {
    return folder.at("job" + std::to_string(job) + ".zca");
  }

  Status compileJob(size_t index) const {
    const CalibrationJob &job = jobs[index];
    return execute(findCompiler(),
                   job.compileArguments(folder.at(job.model->name + ".onnx"),
                                        artifactOf(index)));
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

  /// Among 2, 4, 8, ... ranks, as long as each has a core of its own: of more
  /// the times would say how they take turns. 32 take 4 GiB of memory.
  Status measureLinks() {
    const int64_t most =
        options.quick ? 2 : std::clamp<int64_t>(usableCores(), 2, 32);
    for (int64_t ranks = 2; ranks <= most; ranks *= 2)
      ZC_RETURN_IF_ERROR(measureLinksOf(ranks));
    return Status();
  }

  Status measureLinksOf(int64_t ranks) {
    const std::string output = folder.at("links.json");
    ZC_RETURN_IF_ERROR(
        execute(findRunner(),
                {"links", "--local-ranks", std::to_string(ranks), "--most",
                 options.quick ? "1048576" : "67108864", "--seconds",
                 options.quick ? "0.01" : "0.1"},
                output));
    ZC_ASSIGN_OR_RETURN(const std::string text, readFile(output, 1 << 20));
    return calibration.addLinks(text);
  }

  const CalibrateOptions options;
  Calibration &calibration;
  const std::vector<CalibrationModel> models;
  const std::vector<CalibrationJob> jobs;
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
  machine.cores = usableCores();
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
