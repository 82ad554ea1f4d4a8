#include "compiler/Driver/Verify.h"

#include "compiler/Driver/Compile.h"
#include "compiler/Driver/EmptyOutputs.h"
#include "compiler/Driver/OwnedProcess.h"
#include "compiler/Driver/Process.h"
#include "compiler/Driver/VerifyCompare.h"
#include "compiler/Interpreter/Npy.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace zc;

/// Larger inputs are data, not shapes.
constexpr size_t kMostBoundBytes = 4096;

namespace {

/// Says which inputs are made constants. The fewer, the more is computed at run
/// time; more are bound only where a model cannot be compiled without.
enum class Binding { None, Integers, AllButFirst, All };

/// A test set, and where its run puts files.
struct TestRun {
  std::string model;
  TestSet set;
  std::string folder;  // temporary: files of the artifact and the inputs
  std::string outputs; // where NAME.npy of each output goes
};

} // namespace

static bool isBound(const TestRun &run, size_t index, Binding binding) {
  const TestTensor &input = run.set.inputs[index];
  // An input without elements is a constant in every model.
  if (llvm::is_contained(input.dims, 0))
    return true;
  if (binding == Binding::None || input.bytes.size() > kMostBoundBytes)
    return false;
  llvm::StringRef type = getNumpyType(input.dataType);
  bool isFloat = type.size() == 3 && type[1] == 'f';
  if (binding == Binding::Integers)
    return !isFloat;
  return binding == Binding::All || index > 0;
}

static std::map<std::string, std::string> boundInputs(const TestRun &run,
                                                      Binding binding) {
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < run.set.inputs.size(); ++i)
    if (isBound(run, i, binding))
      files[run.set.inputs[i].name] = run.set.inputs[i].path;
  return files;
}

static CompileOptions makeOptions(const TestRun &run, Binding binding) {
  CompileOptions options;
  options.model = run.model;
  options.mode = "infer";
  options.dims = run.set.dims;
  options.constantInputs = boundInputs(run, binding);
  // Test data is no batch of samples: each input is taken whole.
  for (const TestTensor &input : run.set.inputs)
    if (!options.constantInputs.count(input.name))
      options.batchDims[input.name] = -1;
  options.quiet = true;
  options.output = run.folder + "/model.zca";
  return options;
}

// In a process of its own, whose messages are the log: compiles, then becomes
// zc-run. Returns only on failure.
static int computeOutputs(const TestRun &run) {
  CompileOptions options;
  std::vector<WithoutElements> empty;
  int code = 1;
  for (Binding binding :
       {Binding::None, Binding::Integers, Binding::AllButFirst, Binding::All}) {
    if (binding != Binding::None &&
        boundInputs(run, binding) == options.constantInputs)
      continue;
    // The messages of an attempt that another one follows are of no interest.
    if (ftruncate(STDERR_FILENO, 0) != 0)
      return 1;
    options = makeOptions(run, binding);
    empty.clear();
    options.takesEmpty = [&](WithoutElements output) {
      empty.push_back(std::move(output));
    };
    code = compile(options);
    if (empty.size() == run.set.outputs.size()) // nothing is left to compute
      return writeEmptyOutputs(run.outputs, empty) ? 0 : 1;
    if (code == 0)
      break;
  }
  if (code != 0)
    return code;
  if (!writeEmptyOutputs(run.outputs, empty))
    return 1;
  std::vector<std::string> arguments = {"eval", options.output, "--output-dir",
                                        run.outputs};
  for (const auto &[index, input] : llvm::enumerate(run.set.inputs)) {
    if (options.constantInputs.count(input.name))
      continue;
    std::string file = run.folder + "/input_" + std::to_string(index) + ".npy";
    arguments.insert(arguments.end(), {"--input", input.name + "=" + file});
  }
  return execRunner(arguments);
}

static llvm::Error writeInputs(const TestRun &run) {
  for (const auto &[index, input] : llvm::enumerate(run.set.inputs)) {
    std::string type = getNumpyType(input.dataType);
    if (type.empty())
      return llvm::createStringError("input '" + input.name +
                                     "' has a type that NumPy lacks");
    std::string file = run.folder + "/input_" + std::to_string(index) + ".npy";
    if (llvm::Error error =
            interpreter::writeNpy(file, type, input.dims, input.bytes))
      return error;
  }
  return llvm::Error::success();
}

// The first line of what the child said, without the program's name.
static std::string readReason(const std::string &log, int status) {
  std::string said;
  if (auto buffer = llvm::MemoryBuffer::getFile(log)) {
    llvm::StringRef text = (*buffer)->getBuffer().trim();
    for (llvm::StringRef lead : {"zc: error: ", "zc-run: error: "})
      text.consume_front(lead);
    text.consume_front("model.onnx: ");
    auto [first, rest] = text.split('\n');
    // The list of unsupported operators goes on below its colon.
    if (first.ends_with(":"))
      first = text.take_front(first.size() + 1 + rest.split('\n').first.size());
    said = first.str();
    llvm::replace(said, '\n', ' ');
  }
  if (WIFSIGNALED(status))
    return "ended by signal " + std::to_string(WTERMSIG(status)) +
           (said.empty() ? "" : ": " + said);
  return said.empty() ? "failed without a message" : said;
}

// Computes in a child: a crash is one failed set and not the end of all.
static std::string compute(const TestRun &run) {
  if (llvm::Error error = writeInputs(run))
    return llvm::toString(std::move(error));
  std::string log = run.folder + "/log";
  pid_t child = fork();
  if (child < 0)
    return std::string("cannot start a process: ") + std::strerror(errno);
  if (child == 0) {
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    int silent = open("/dev/null", O_WRONLY);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0 ||
        dup2(silent, STDOUT_FILENO) < 0)
      _exit(1);
    _exit(computeOutputs(run));
  }
  const int status = awaitEnd(child);
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return good ? "" : readReason(log, status);
}

static Verdict verifySet(const std::string &folder, const std::string &path,
                         const VerifyOptions &options) {
  Verdict verdict{path};
  Result<std::string> temporary = makeTemporaryFolder("zc-verify");
  if (!temporary.ok())
    return {path, temporary.status().message()};
  std::string model = folder + "/model.onnx";
  llvm::Expected<TestSet> set = readTestSet(model, path);
  if (!set) {
    verdict.reason = llvm::toString(set.takeError());
  } else {
    TestRun run{model, std::move(*set), *temporary, ""};
    run.outputs = run.folder + "/outputs";
    if (!options.outputDir.empty())
      run.outputs = options.outputDir + "/" +
                    llvm::sys::path::filename(folder).str() + "/" +
                    llvm::sys::path::filename(path).str();
    verdict.reason = compute(run);
    for (const TestTensor &output : run.set.outputs)
      if (verdict.passed())
        compareOutput(run.outputs + "/" + getOutputFile(output.name), output,
                      options, verdict);
  }
  llvm::sys::fs::remove_directories(*temporary);
  return verdict;
}

std::vector<Verdict> zc::verifyFolder(const std::string &folder,
                                      const VerifyOptions &options) {
  std::vector<std::string> sets;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(folder, error), end;
       at != end && !error; at.increment(error))
    if (llvm::sys::path::filename(at->path()).starts_with("test_data_set_"))
      sets.push_back(at->path());
  llvm::sort(sets);
  if (sets.empty())
    return {{folder,
             error ? error.message() : std::string("has no test_data_set_*")}};
  std::vector<Verdict> verdicts;
  for (const std::string &set : sets)
    verdicts.push_back(verifySet(folder, set, options));
  return verdicts;
}
