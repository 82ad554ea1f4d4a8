// A stand-in for libcuda.so.1: device memory is host memory, every call that
// changes something is written down, and any call can be made to fail. Streams
// do their work at once, or on threads (FakeStream.h); a capturing one keeps it
// for its graph, which runs in an order that events allow and the order of the
// calls does not suggest.
// Kernels run as PTX on the CPU (PtxMachine.h).
//
// ZC_FAKE_CUDA_ARCH=90, ZC_FAKE_CUDA_GPUS=1, ZC_FAKE_CUDA_MEMORY=bytes,
// ZC_FAKE_CUDA_PINNED=bytes (the most that the host gives at once),
// ZC_FAKE_CUDA_FAIL=call:nth:error (behind 719 every call fails),
// ZC_FAKE_CUDA_LOG=file,
// ZC_FAKE_CUDA_EAGER=stream: whose work a graph does as soon as it may (0).
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"
#include "test/unit/runtime/Device/Cuda/FakeStream.h"
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
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Work = std::function<void()>;

using Stream = zc::test::FakeStream;
struct Node {
  int stream;
  Work work;
  std::vector<size_t> after;
};
struct Graph {
  std::vector<Node> nodes;
};
struct Event {
  int number;
  Graph *graph = nullptr;       // that it was recorded into
  std::vector<size_t> behind{}; // what it stands behind there
  Stream *stream = nullptr;     // or that it was recorded on
  uint64_t place = 0;           // there

  bool hasPassed() const { return !stream || stream->hasPassed(place); }
  void await() const {
    if (stream)
      stream->await(place);
  }
};
/// A graph ready to run.
struct Order {
  std::vector<Work> work;
};
/// The streams that are captured, each with what its next work comes after.
struct Capture {
  Stream *origin = nullptr;
  Graph *graph = nullptr;
  std::map<Stream *, std::vector<size_t>> ends;
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
  bool lost = false; // the GPU
  /// The numbers of each thread's streams: ranks are threads.
  std::map<std::thread::id, std::set<int>> streams;
  std::atomic<int> events{0};
};

/// The stream whose graph this thread runs.
thread_local Stream *launching = nullptr;
/// The calls that this thread captures.
thread_local Capture capture;

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
  CUresult result = CUresult(std::atoi(error.c_str()));
  bool fails = name == call && std::atoi(when.c_str()) <= nth;
  // Behind such an error nothing works any more.
  if (fails && result == CUDA_ERROR_LAUNCH_FAILED)
    s.lost = true;
  if (s.lost && call.compare(0, 2, "cu") == 0)
    return CUDA_ERROR_LAUNCH_FAILED;
  return fails ? result : CUDA_SUCCESS;
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
void enqueue(CUstream handle, Work work, bool waits = false) {
  auto *stream = reinterpret_cast<Stream *>(handle);
  auto end = capture.ends.find(stream);
  if (end == capture.ends.end())
    return stream->enqueue(std::move(work), waits);
  std::vector<Node> &nodes = capture.graph->nodes;
  nodes.push_back({stream->number, std::move(work), end->second});
  end->second = {nodes.size() - 1};
}

/// Whether all that other streams do lies before the end of the origin.
bool isJoined(const Capture &done) {
  std::vector<bool> reached(done.graph->nodes.size(), false);
  std::vector<size_t> left = done.ends.at(done.origin);
  while (!left.empty()) {
    size_t node = left.back();
    left.pop_back();
    if (reached[node])
      continue;
    reached[node] = true;
    const std::vector<size_t> &after = done.graph->nodes[node].after;
    left.insert(left.end(), after.begin(), after.end());
  }
  return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

/// Every stream's nodes in their order; of those that may run the eager
/// stream's first.
Order *orderOf(const Graph &graph, int eager) {
  auto *order = new Order;
  std::vector<bool> done(graph.nodes.size(), false);
  auto runs = [&](bool isEager) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node &node = graph.nodes[i];
      if (done[i] || (node.stream == eager) != isEager)
        continue;
      if (!std::all_of(node.after.begin(), node.after.end(),
                       [&](size_t before) { return done[before]; }))
        return false;
      done[i] = true;
      order->work.push_back(node.work);
      if (!isEager)
        return true;
    }
    return false;
  };
  do
    runs(true);
  while (runs(false));
  return order;
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

void zc::test::enqueueFakeMeeting(void *stream, const std::string &what,
                                  std::function<void()> work) {
  enqueue(static_cast<CUstream>(stream), std::move(work), /*waits=*/true);
  (void)note(what, onStream(static_cast<CUstream>(stream)));
}

int zc::test::noteFake(const std::string &call, const std::string &what) {
  return note(call, what);
}

void *zc::test::streamAtWork(void *stream) {
  return launching ? launching : stream;
}

void zc::test::hangFake(void *stream, bool hung) {
  static_cast<Stream *>(stream)->hang(hung);
}

//===----------------------------------------------------------------------===//
// The interface to tests
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
  state().lost = false;
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

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  std::memset(uuid->bytes, 0, sizeof(uuid->bytes));
  uuid->bytes[15] = char(device);
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
  if (CUresult error = note("cuMemHostAlloc", text(bytes)))
    return error;
  if (bytes > size_t(number("ZC_FAKE_CUDA_PINNED", 1L << 40)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = std::malloc(bytes);
  return CUDA_SUCCESS;
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

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  enqueue(stream, [=] { function(data); });
  return note("cuLaunchHostFunc", onStream(stream));
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  {
    // Every rank numbers its own: in one order, whoever comes first.
    std::lock_guard<std::mutex> lock(state().mutex);
    const std::thread::id owner = std::this_thread::get_id();
    std::set<int> &used = state().streams[owner];
    int number = 0;
    while (!used.insert(number).second)
      ++number;
    *stream = reinterpret_cast<CUstream>(new Stream(number, owner));
  }
  return note("cuStreamCreate");
}
CUresult cuStreamDestroy(CUstream stream) {
  auto *gone = reinterpret_cast<Stream *>(stream);
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().streams[gone->owner].erase(gone->number);
  }
  delete gone;
  return note("cuStreamDestroy");
}
CUresult cuStreamSynchronize(CUstream stream) {
  auto *waited = reinterpret_cast<Stream *>(stream);
  if (!waited->await(waited->end()))
    return CUDA_ERROR_LAUNCH_TIMEOUT; // a GPU would never return
  return note("cuStreamSynchronize", onStream(stream));
}
CUresult cuStreamQuery(CUstream stream) {
  auto *asked = reinterpret_cast<Stream *>(stream);
  if (!asked->hasPassed(asked->end()))
    return CUDA_ERROR_NOT_READY;
  return note("cuStreamQuery", onStream(stream));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  auto *from = reinterpret_cast<Event *>(event);
  if (capture.graph && from->graph == capture.graph) {
    auto &end = capture.ends[reinterpret_cast<Stream *>(stream)];
    end.insert(end.end(), from->behind.begin(), from->behind.end());
  } else {
    from->await();
  }
  return note("cuStreamWaitEvent",
              text(onStream(stream), " event ",
                   reinterpret_cast<Event *>(event)->number));
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  auto *origin = reinterpret_cast<Stream *>(stream);
  capture = {origin, new Graph, {{origin, {}}}};
  return note("cuStreamBeginCapture", onStream(stream));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Capture done = std::move(capture);
  capture = {};
  *graph = reinterpret_cast<CUgraph>(done.graph);
  if (CUresult error = note("cuStreamEndCapture", onStream(stream)))
    return error;
  return isJoined(done) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(orderOf(
      *reinterpret_cast<Graph *>(graph), int(number("ZC_FAKE_CUDA_EAGER", 0))));
  return note("cuGraphInstantiate");
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  if (CUresult error = note("cuGraphLaunch", onStream(stream)))
    return error;
  launching = reinterpret_cast<Stream *>(stream);
  launching->await(launching->end());
  for (const Work &work : reinterpret_cast<Order *>(graph)->work)
    work();
  launching = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  delete reinterpret_cast<Order *>(graph);
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
  auto *recorded = reinterpret_cast<Event *>(event);
  auto end = capture.ends.find(reinterpret_cast<Stream *>(stream));
  bool isCaptured = end != capture.ends.end();
  recorded->stream = isCaptured ? nullptr : reinterpret_cast<Stream *>(stream);
  recorded->place = isCaptured ? 0 : recorded->stream->end();
  recorded->graph = isCaptured ? capture.graph : nullptr;
  recorded->behind = isCaptured ? end->second : std::vector<size_t>();
  return note("cuEventRecord",
              text("event ", reinterpret_cast<Event *>(event)->number, " ",
                   onStream(stream)));
}
CUresult cuEventQuery(CUevent event) {
  if (!reinterpret_cast<Event *>(event)->hasPassed())
    return CUDA_ERROR_NOT_READY;
  return note("cuEventQuery",
              text("event ", reinterpret_cast<Event *>(event)->number));
}
CUresult cuEventSynchronize(CUevent event) {
  reinterpret_cast<Event *>(event)->await();
  return note("cuEventSynchronize",
              text("event ", reinterpret_cast<Event *>(event)->number));
}
CUresult cuEventElapsedTime(float *time, CUevent, CUevent) {
  *time = 1;
  return CUDA_SUCCESS;
}

} // extern "C"
