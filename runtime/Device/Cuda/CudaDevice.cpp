#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/CudaCalls.h"
#include "runtime/Device/Cuda/Executables.h"
#include "runtime/Device/Cuda/HostCall.h"
#include "runtime/Device/Cuda/Limits.h"
#include "runtime/Device/Cuda/PinnedMemory.h"
#include "runtime/Device/Cuda/Staging.h"
#include "runtime/Plan/StreamNumbers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace zc::cuda {
namespace {

/// A GPU's properties, from the driver.
struct Gpu {
  CUdevice device = 0;
  std::string name, uuid;
  int major = 0, minor = 0;

  std::string arch() const { return strCat("sm_", major, minor); }
};

std::string printUuid(const CUuuid &uuid) {
  std::string text;
  for (char byte : uuid.bytes) {
    const char *digits = "0123456789abcdef";
    text += digits[uint8_t(byte) / 16];
    text += digits[uint8_t(byte) % 16];
  }
  return text;
}

Result<Gpu> findGpu(const Driver &driver, int place) {
  int count = 0;
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS)
    result = driver.cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    return makeError(StatusCode::NotFound,
                     "NVIDIA's driver finds no GPU on this machine (or "
                     "CUDA_VISIBLE_DEVICES hides it); for CPUs, compile the "
                     "model with --target cpu");
  ZC_RETURN_IF_ERROR(driver.check(result, "cuInit"));
  Gpu gpu;
  ZC_CUDA_CALL(driver, cuDeviceGet, &gpu.device, place % count);
  std::array<char, 256> name = {};
  ZC_CUDA_CALL(driver, cuDeviceGetName, name.data(), int(name.size()) - 1,
               gpu.device);
  gpu.name = name.data();
  CUuuid uuid = {};
  ZC_CUDA_CALL(driver, cuDeviceGetUuid, &uuid, gpu.device);
  gpu.uuid = printUuid(uuid);
  ZC_CUDA_CALL(driver, cuDeviceGetAttribute, &gpu.major,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device);
  ZC_CUDA_CALL(driver, cuDeviceGetAttribute, &gpu.minor,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device);
  return gpu;
}

/// The GPU's one context, which libraries share with us.
class PrimaryContext {
public:
  PrimaryContext(const Driver &driver, CUdevice device)
      : driver(driver), device(device) {}
  ~PrimaryContext() {
    if (context)
      driver.cuDevicePrimaryCtxRelease(device);
  }
  PrimaryContext(const PrimaryContext &) = delete;

  Status retain() {
    ZC_CUDA_CALL(driver, cuDevicePrimaryCtxRetain, &context, device);
    return Status();
  }
  CUcontext get() const { return context; }

private:
  const Driver &driver;
  CUdevice device;
  CUcontext context = nullptr;
};

/// Libraries take a workspace from a multiple of 256 bytes on, where plans
/// place buffers at multiples of 64.
template <typename Launch> Launch alignWorkspace(Launch launch) {
  constexpr uint64_t kAlignment = 256, kPlanned = 64;
  // Skip as many bytes wherever it lies, so that equal calls have equal plans.
  constexpr uint64_t kMostSkipped = kAlignment - kPlanned;
  uint64_t past = reinterpret_cast<uintptr_t>(launch.workspace) % kAlignment;
  uint64_t skipped = past == 0 ? 0 : kAlignment - past;
  bool fits = kMostSkipped < launch.workspaceBytes;
  launch.workspace =
      fits ? static_cast<char *>(launch.workspace) + skipped : nullptr;
  launch.workspaceBytes = fits ? launch.workspaceBytes - kMostSkipped : 0;
  return launch;
}

template <typename Launch, typename = void>
struct HasWorkspace : std::false_type {};
template <typename Launch>
struct HasWorkspace<Launch, std::void_t<decltype(Launch::workspace)>>
    : std::true_type {};

class CudaDevice final : public Device {
public:
  CudaDevice(const Driver &driver, Gpu gpu, AlgorithmChoice choice)
      : driver(driver), gpu(std::move(gpu)), context(driver, this->gpu.device),
        staging(driver), offloaded(driver), libraries(driver, choice) {}
  ~CudaDevice() override;

  Status open();

  std::string description() const override {
    return strCat(gpu.name, ", ", gpu.arch());
  }
  std::string compileAdvice() const override {
    return strCat("zc compile --target cuda:", gpu.arch());
  }
  Result<DeviceLimits> measureLimits() override {
    ZC_RETURN_IF_ERROR(enter());
    return cuda::measureLimits(driver, streams[0]);
  }
  bool hostReadsMemory() const override { return false; }
  std::string collectiveLibrary() const override { return "nccl"; }
  std::string identity() const override { return gpu.uuid; }
  Result<void *> nativeStream(StreamId stream) override;
  Result<StreamId> addStream() override;

  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> allocateOffloaded(uint64_t bytes,
                                   const std::string &) override;
  void release(void *address, uint64_t bytes) override;
  Status checkFeatures(const std::vector<std::string> &features) const override;
  Status loadCode(const CodeImage &image) override;
  Result<std::unique_ptr<Executable>> prepare(const Launch &launch) override;
  Result<std::unique_ptr<Executable>>
  onStreams(Device &host, std::unique_ptr<Executable> executable) override;
  Status launch(Executable &executable, StreamId stream) override;

  bool capturesPrograms() const override { return true; }
  Status beginCapture() override;
  Result<std::unique_ptr<Executable>> endCapture() override;

  Status copyIn(void *destination, const void *source, uint64_t bytes,
                StreamId stream) override;
  Status copyOut(void *destination, const void *source, uint64_t bytes,
                 StreamId stream) override;
  Result<EventId> createEvent() override;
  Status record(EventId event, StreamId stream) override;
  Status wait(EventId event, StreamId stream) override;
  Result<bool> hasPassed(EventId event) override;
  Status synchronize(StreamId stream) override;
  Result<bool> isIdle(StreamId stream) override;

private:
  /// Threads have a current context each; ranks may be threads.
  Status enter() const {
    ZC_CUDA_CALL(driver, cuCtxSetCurrent, context.get());
    return Status();
  }

  ExecutableResult make(const KernelLaunch &kernel);
  ExecutableResult make(const CopyLaunch &copy);
  template <typename Call> ExecutableResult make(const Call &call);
  std::string printFree() const;

  const Driver &driver;
  Gpu gpu;
  PrimaryContext context; // outlives all that is made in it
  // First the streams that programs use, then those that were added.
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
  Staging staging;
  PinnedMemory offloaded;
  std::mutex copying; // threads stage by turns
  std::unique_ptr<Module> code;
  LibraryHandles libraries;
  HostFailure hostFailure;
};

CudaDevice::~CudaDevice() {
  if (!context.get())
    return;
  driver.cuCtxSetCurrent(context.get());
  libraries.close();
  for (CUevent event : events)
    driver.cuEventDestroy(event);
  for (CUstream stream : streams)
    driver.cuStreamDestroy(stream);
}

Status CudaDevice::open() {
  ZC_RETURN_IF_ERROR(context.retain());
  ZC_RETURN_IF_ERROR(enter());
  for (uint32_t i = 0; i < streams::kCount; ++i)
    ZC_RETURN_IF_ERROR(addStream().status());
  libraries.measureOn(streams[0]);
  return Status();
}

Result<StreamId> CudaDevice::addStream() {
  ZC_RETURN_IF_ERROR(enter());
  CUstream stream = nullptr;
  ZC_CUDA_CALL(driver, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  streams.push_back(stream);
  return StreamId(streams.size() - 1);
}

/// "A GPU has 1 of its 2 bytes free", and what to do if they are too few.
std::string CudaDevice::printFree() const {
  size_t free = 0, total = 0;
  (void)driver.cuMemGetInfo(&free, &total);
  return strCat(gpu.name, " has ", free, " of its ", total,
                " bytes free; compile with a smaller batch, --accumulate, "
                "--recompute or --memory-budget");
}

Result<void *> CudaDevice::allocate(uint64_t bytes) {
  ZC_RETURN_IF_ERROR(enter());
  CUdeviceptr address = 0;
  CUresult result = driver.cuMemAlloc(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    return makeError(StatusCode::ResourceExhausted, "the plan needs ", bytes,
                     " bytes on the GPU, but ", printFree());
  }
  ZC_RETURN_IF_ERROR(driver.check(result, "cuMemAlloc"));
  ZC_CUDA_CALL(driver, cuMemsetD8Async, address, 0, bytes, streams[0]);
  ZC_CUDA_CALL(driver, cuStreamSynchronize, streams[0]);
  return reinterpret_cast<void *>(address);
}

Result<void *> CudaDevice::allocateOffloaded(uint64_t bytes,
                                             const std::string &) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_RETURN_IF_ERROR(offloaded.allocate(bytes));
  return static_cast<void *>(offloaded.base());
}

void CudaDevice::release(void *address, uint64_t) {
  driver.cuCtxSetCurrent(context.get());
  if (offloaded.contains(address))
    return offloaded.release();
  driver.cuMemFree(reinterpret_cast<CUdeviceptr>(address));
}

/// "compute_80": at least that; "sm_90": machine code of that generation.
Status
CudaDevice::checkFeatures(const std::vector<std::string> &features) const {
  for (const std::string &feature : features) {
    size_t digits = feature.rfind('_') + 1;
    int version = std::atoi(feature.c_str() + digits);
    int major = version / 10, minor = version % 10;
    bool exact = feature.compare(0, digits, "sm_") == 0;
    if (!exact && feature.compare(0, digits, "compute_") != 0)
      return makeError(StatusCode::Unsupported, "it needs '", feature,
                       "', which this program does not know");
    bool fits = exact ? gpu.major == major && gpu.minor >= minor
                      : gpu.major * 10 + gpu.minor >= version;
    if (!fits)
      return makeError(StatusCode::Unsupported, "it needs a GPU of sm_",
                       version, exact ? "" : " or newer", "; this is ",
                       description());
  }
  return Status();
}

Status CudaDevice::loadCode(const CodeImage &image) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_ASSIGN_OR_RETURN(code, Module::load(driver, image, streams[0]));
  return Status();
}

/// Libraries and kernels take memory of their own, beside the plan's.
Result<std::unique_ptr<Executable>> CudaDevice::prepare(const Launch &launch) {
  ZC_RETURN_IF_ERROR(enter());
  ExecutableResult made =
      std::visit([&](const auto &each) { return make(each); }, launch);
  if (made.ok() || made.status().code() != StatusCode::ResourceExhausted)
    return made;
  return makeError(StatusCode::ResourceExhausted, made.status().message(),
                   "; beside the plan's memory ", printFree());
}

Result<std::unique_ptr<Executable>>
CudaDevice::onStreams(Device &host, std::unique_ptr<Executable> executable) {
  return makeHostCall(driver, host, std::move(executable), hostFailure);
}

ExecutableResult CudaDevice::make(const KernelLaunch &kernel) {
  if (!code)
    return makeError(StatusCode::Corrupt, "kernel '", kernel.symbol,
                     "' is called but there is no code object");
  return code->makeKernel(kernel);
}

ExecutableResult CudaDevice::make(const CopyLaunch &copy) {
  return makeCopy(driver, copy, offloaded.contains(copy.source),
                  offloaded.contains(copy.destination));
}

template <typename Call> ExecutableResult CudaDevice::make(const Call &call) {
  if constexpr (!kernels::HasLaunch<Call, CudaCalls>::value)
    return makeError(StatusCode::Unsupported,
                     "no library computes it on GPUs; compile the model again");
  else if constexpr (HasWorkspace<Call>::value)
    return makeCall(libraries, alignWorkspace(call));
  else
    return makeCall(libraries, call);
}

Status CudaDevice::launch(Executable &executable, StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  return static_cast<CudaExecutable &>(executable).enqueue(streams[stream]);
}

Result<void *> CudaDevice::nativeStream(StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  return static_cast<void *>(streams[stream]);
}

Status CudaDevice::beginCapture() {
  ZC_RETURN_IF_ERROR(enter());
  ZC_CUDA_CALL(driver, cuStreamBeginCapture, streams[0],
               CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  return Status();
}

Result<std::unique_ptr<Executable>> CudaDevice::endCapture() {
  CUgraph graph = nullptr;
  ZC_CUDA_CALL(driver, cuStreamEndCapture, streams[0], &graph);
  return makeGraph(driver, graph);
}

Status CudaDevice::copyIn(void *destination, const void *source, uint64_t bytes,
                          StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  if (offloaded.contains(destination)) {
    // Wait for work on the stream that uses this memory.
    ZC_CUDA_CALL(driver, cuStreamSynchronize, streams[stream]);
    std::memcpy(destination, source, bytes);
    return Status();
  }
  std::lock_guard<std::mutex> lock(copying);
  return staging.copyIn(reinterpret_cast<CUdeviceptr>(destination),
                        static_cast<const char *>(source), bytes,
                        streams[stream]);
}

Status CudaDevice::copyOut(void *destination, const void *source,
                           uint64_t bytes, StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  if (offloaded.contains(source)) {
    ZC_CUDA_CALL(driver, cuStreamSynchronize, streams[stream]);
    std::memcpy(destination, source, bytes);
    return Status();
  }
  std::lock_guard<std::mutex> lock(copying);
  return staging.copyOut(static_cast<char *>(destination),
                         reinterpret_cast<CUdeviceptr>(source), bytes,
                         streams[stream]);
}

Result<EventId> CudaDevice::createEvent() {
  ZC_RETURN_IF_ERROR(enter());
  CUevent event = nullptr;
  ZC_CUDA_CALL(driver, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  events.push_back(event);
  return EventId(events.size() - 1);
}

Status CudaDevice::record(EventId event, StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_CUDA_CALL(driver, cuEventRecord, events[event], streams[stream]);
  return Status();
}

Status CudaDevice::wait(EventId event, StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_CUDA_CALL(driver, cuStreamWaitEvent, streams[stream], events[event], 0);
  return Status();
}

Result<bool> CudaDevice::hasPassed(EventId event) {
  ZC_RETURN_IF_ERROR(enter());
  CUresult result = driver.cuEventQuery(events[event]);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  ZC_RETURN_IF_ERROR(driver.check(result, "cuEventQuery"));
  return true;
}

Status CudaDevice::synchronize(StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  ZC_CUDA_CALL(driver, cuStreamSynchronize, streams[stream]);
  return hostFailure.take();
}

Result<bool> CudaDevice::isIdle(StreamId stream) {
  ZC_RETURN_IF_ERROR(enter());
  CUresult result = driver.cuStreamQuery(streams[stream]);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  ZC_RETURN_IF_ERROR(driver.check(result, "cuStreamQuery"));
  ZC_RETURN_IF_ERROR(hostFailure.take());
  return true;
}

} // namespace

Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options) {
  ZC_ASSIGN_OR_RETURN(const Driver *driver, Driver::open());
  ZC_ASSIGN_OR_RETURN(Gpu gpu, findGpu(*driver, options.place));
  auto device = std::make_unique<CudaDevice>(
      *driver, std::move(gpu), AlgorithmChoice{!options.alike, options.tf32});
  ZC_RETURN_IF_ERROR(device->open());
  return std::unique_ptr<Device>(std::move(device));
}

} // namespace zc::cuda
