#include "runtime/Device/Cuda/Record.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace zc::cuda {
namespace {

/// The functions as they were, and the file; the driver's table is one a
/// process as well.
Driver before;
std::FILE *file = nullptr;
std::mutex writing;

void writeLine(const std::string &line) {
  std::lock_guard<std::mutex> lock(writing);
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file); // a process that ends badly is to be seen as well
}

CUresult allocate(CUdeviceptr *address, size_t bytes) {
  writeLine(strCat("alloc ", bytes));
  return before.cuMemAlloc(address, bytes);
}

CUresult pin(void **address, size_t bytes, unsigned flags) {
  writeLine(strCat("pin ", bytes));
  return before.cuMemHostAlloc(address, bytes, flags);
}

CUresult beginCapture(CUstream stream, CUstreamCaptureMode mode) {
  writeLine("capture");
  return before.cuStreamBeginCapture(stream, mode);
}

CUresult launchGraph(CUgraphExec graph, CUstream stream) {
  writeLine("launch");
  return before.cuGraphLaunch(graph, stream);
}

CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned shared, CUstream stream,
                      void **parameters, void **extra) {
  writeLine("kernel");
  return before.cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY,
                               blockZ, shared, stream, parameters, extra);
}

} // namespace

Status recordCalls(Driver &driver) {
  const char *path = std::getenv("ZC_CUDA_RECORD");
  if (!path || !*path)
    return Status();
  file = std::fopen(path, "we");
  if (!file)
    return makeError(StatusCode::InvalidArgument, "cannot write '", path,
                     "', which ZC_CUDA_RECORD names: ", std::strerror(errno));
  before = driver;
  driver.cuMemAlloc = allocate;
  driver.cuMemHostAlloc = pin;
  driver.cuStreamBeginCapture = beginCapture;
  driver.cuGraphLaunch = launchGraph;
  driver.cuLaunchKernel = launchKernel;
  return Status();
}

} // namespace zc::cuda
