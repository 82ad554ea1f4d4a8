// A stand-in for libcuda.so.1: device memory is host memory, every call that
// changes something is written down, and any call can be made to fail. Streams
// do their work at once; a capturing one keeps it for its graph. Kernels run as
// PTX on the CPU (PtxMachine.h).
//
// ZC_FAKE_CUDA_ARCH=90, ZC_FAKE_CUDA_GPUS=1, ZC_FAKE_CUDA_MEMORY=bytes,
// ZC_FAKE_CUDA_FAIL=call:nth:error, ZC_FAKE_CUDA_LOG=file.
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"
#include "test/unit/runtime/Device/Cuda/PtxMachine.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Work = std::function<void()>;

struct Stream {
  int number;
};
struct Event {
  int number;
};
struct Graph {
  std::vector<Work> work;
};
struct Function {
  std::string name;
  std::shared_ptr<zc::test::PtxKernel> kernel;
};
struct Code {
  std::map<std::string, Function> functions;
  std::map<std::string, std::vector<char>> globals;
};

struct State {
  std::mutex mutex;
  std::vector<std::string> calls;
  std::map<std::string, int> counts;
  std::map<void *, size_t> memory;
  size_t used = 0;
  std::atomic<int> streams{0}, events{0};
};

/// What this thread captures.
thread_local Stream *capturing = nullptr;
thread_local Graph *captured = nullptr;

State &state() {
  static State instance;
  return instance;
}

long number(const char *variable, long usual) {
  const char *text = std::getenv(variable);
  return text ? std::atol(text) : usual;
}

/// Writes a call down; an error where it was asked to fail.
CUresult note(const std::string &call, const std::string &what = "") {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.calls.push_back(what.empty() ? call : call + " " + what);
  if (const char *path = std::getenv("ZC_FAKE_CUDA_LOG"))
    if (std::FILE *file = std::fopen(path, "a")) {
      std::fprintf(file, "%s\n", s.calls.back().c_str());
      std::fclose(file);
    }
  int nth = ++s.counts[call];
  const char *fail = std::getenv("ZC_FAKE_CUDA_FAIL");
  if (!fail)
    return CUDA_SUCCESS;
  std::istringstream parts(fail);
  std::string name, when, error;
  std::getline(parts, name, ':');
  std::getline(parts, when, ':');
  std::getline(parts, error, ':');
  return name == call && std::atoi(when.c_str()) <= nth
             ? CUresult(std::atoi(error.c_str()))
             : CUDA_SUCCESS;
}

template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

std::string onStream(CUstream stream) {
  return text("stream ", reinterpret_cast<Stream *>(stream)->number);
}

/// Does the work, or keeps it for the graph that the stream is captured into.
void enqueue(CUstream stream, Work work) {
  if (capturing && capturing == reinterpret_cast<Stream *>(stream))
    captured->work.push_back(std::move(work));
  else
    work();
}

void *at(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// The entries of a PTX text and the bytes of its `_signature` globals.
Code *parsePtx(const std::string &ptx) {
  auto *code = new Code;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    const std::string entry = ".visible .entry ";
    if (line.compare(0, entry.size(), entry) == 0) {
      std::string name =
          line.substr(entry.size(), line.find('(') - entry.size());
      code->functions[name] = {name, nullptr};
    }
    size_t global = line.find(".b8 "), bracket = line.find('[');
    size_t values = line.find('{');
    if (line.compare(0, 16, ".visible .global") != 0 ||
        global == std::string::npos || values == std::string::npos)
      continue;
    std::string name = line.substr(global + 4, bracket - global - 4);
    std::vector<char> bytes(size_t(std::atol(line.c_str() + bracket + 1)),
                            '\0');
    const char *next = line.c_str() + values + 1;
    for (char &byte : bytes) {
      char *end = nullptr;
      byte = char(std::strtol(next, &end, 10));
      if (*end != ',')
        break;
      next = end + 1;
    }
    code->globals[name] = bytes;
  }
  for (auto &[name, kernel] : zc::test::parsePtxKernels(ptx))
    code->functions[name].kernel = kernel;
  return code;
}

} // namespace

void zc::test::enqueueFake(void *stream, const std::string &what,
                           std::function<void()> work) {
  enqueue(static_cast<CUstream>(stream), std::move(work));
  (void)note(what, onStream(static_cast<CUstream>(stream)));
}

//===----------------------------------------------------------------------===//
// What tests ask
//===----------------------------------------------------------------------===//

extern "C" const char *zcFakeCudaCalls() {
  static std::string joined;
  joined.clear();
  for (const std::string &call : state().calls)
    joined += call + "\n";
  return joined.c_str();
}

extern "C" void zcFakeCudaForget() {
  state().calls.clear();
  state().counts.clear();
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

extern "C" {

CUresult cuInit(unsigned) { return note("cuInit"); }

CUresult cuGetErrorString(CUresult error, const char **why) {
  static std::string said;
  said = text("fake error ", int(error));
  *why = said.c_str();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = int(number("ZC_FAKE_CUDA_GPUS", 1));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return note("cuDeviceGet", text(ordinal));
}

CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  std::snprintf(name, size_t(size), "Fake GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  long arch = number("ZC_FAKE_CUDA_ARCH", 90);
  *value = int(attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
                   ? arch / 10
                   : arch % 10);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&state());
  return note("cuDevicePrimaryCtxRetain");
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  return note("cuDevicePrimaryCtxRelease");
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = size_t(number("ZC_FAKE_CUDA_MEMORY", 1L << 40));
  *free = *total - state().used;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  if (CUresult error = note("cuMemAlloc", text(bytes)))
    return error;
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().used + bytes > size_t(number("ZC_FAKE_CUDA_MEMORY", 1L << 40)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  state().memory[memory] = bytes;
  state().used += bytes;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(state().mutex);
  auto found = state().memory.find(at(address));
  if (found == state().memory.end())
    return CUDA_ERROR_INVALID_VALUE;
  state().used -= found->second;
  state().memory.erase(found);
  std::free(at(address));
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return note("cuMemHostAlloc", text(bytes));
}
CUresult cuMemFreeHost(void *memory) {
  std::free(memory);
  return note("cuMemFreeHost");
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  enqueue(stream, [=] { std::memset(at(to), value, bytes); });
  return note("cuMemsetD8Async", text(bytes));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  enqueue(stream, [=] { std::memcpy(at(to), from, bytes); });
  return note("cuMemcpyHtoDAsync", text(bytes, " ", onStream(stream)));
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  enqueue(stream, [=] { std::memcpy(to, at(from), bytes); });
  return note("cuMemcpyDtoHAsync", text(bytes, " ", onStream(stream)));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  enqueue(stream, [=] { std::memmove(at(to), at(from), bytes); });
  return note("cuMemcpyDtoDAsync", text(bytes, " ", onStream(stream)));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned,
                            CUjit_option *, void **) {
  if (CUresult error = note("cuModuleLoadDataEx"))
    return error;
  std::string ptx = static_cast<const char *>(image);
  if (ptx.find(".version") == std::string::npos)
    return CUDA_ERROR_INVALID_IMAGE;
  *module = reinterpret_cast<CUmodule>(parsePtx(ptx));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Code *>(module);
  return note("cuModuleUnload");
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  auto &functions = reinterpret_cast<Code *>(module)->functions;
  auto found = functions.find(name);
  if (found == functions.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&found->second);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module,
                           const char *name) {
  auto &globals = reinterpret_cast<Code *>(module)->globals;
  auto found = globals.find(name);
  if (found == globals.end())
    return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(found->second.data());
  *bytes = found->second.size();
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned, unsigned,
                        unsigned threads, unsigned, unsigned, unsigned,
                        CUstream stream, void **parameters, void **) {
  auto kernel = reinterpret_cast<Function *>(function)->kernel;
  std::vector<uint64_t> arguments;
  for (size_t i = 0; i < kernel->parameters.size(); ++i)
    arguments.push_back(*static_cast<uint64_t *>(parameters[i]));
  enqueue(stream, [=] { zc::test::runPtx(*kernel, x, threads, arguments); });
  return note("cuLaunchKernel",
              text(reinterpret_cast<Function *>(function)->name, " grid ", x,
                   " threads ", threads, " ", onStream(stream)));
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(new Stream{state().streams++ % 2});
  return note("cuStreamCreate");
}
CUresult cuStreamDestroy(CUstream stream) {
  delete reinterpret_cast<Stream *>(stream);
  return note("cuStreamDestroy");
}
CUresult cuStreamSynchronize(CUstream stream) {
  return note("cuStreamSynchronize", onStream(stream));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return note("cuStreamWaitEvent",
              text(onStream(stream), " event ",
                   reinterpret_cast<Event *>(event)->number));
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  capturing = reinterpret_cast<Stream *>(stream);
  captured = new Graph;
  return note("cuStreamBeginCapture", onStream(stream));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  *graph = reinterpret_cast<CUgraph>(captured);
  capturing = nullptr;
  return note("cuStreamEndCapture", onStream(stream));
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(
      new Graph(*reinterpret_cast<Graph *>(graph)));
  return note("cuGraphInstantiate");
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  if (CUresult error = note("cuGraphLaunch", onStream(stream)))
    return error;
  for (const Work &work : reinterpret_cast<Graph *>(graph)->work)
    work();
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(new Event{state().events++});
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete reinterpret_cast<Event *>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return note("cuEventRecord",
              text("event ", reinterpret_cast<Event *>(event)->number, " ",
                   onStream(stream)));
}
CUresult cuEventSynchronize(CUevent event) {
  return note("cuEventSynchronize",
              text("event ", reinterpret_cast<Event *>(event)->number));
}
CUresult cuEventElapsedTime(float *time, CUevent, CUevent) {
  *time = 1;
  return CUDA_SUCCESS;
}

} // extern "C"
