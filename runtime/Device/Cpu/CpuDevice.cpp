#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cpu/CallWays.h"
#include "runtime/Device/Cpu/Executables.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Limits.h"
#include "runtime/Device/Cpu/OffloadFile.h"
#include "runtime/Device/Cpu/Pages.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace zc::cpu {
namespace {

/// Ranks and sessions that are threads of one process share the library's
/// cache.
std::mutex &preparing() {
  static std::mutex mutex;
  return mutex;
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(const DeviceOptions &options)
      : threads(std::max(1, options.threads)), processors(options.processors),
        matmulPrecision(options.matmulPrecision) {
    enterThread();
  }

  /// Fails where the system gives no threads.
  Status start() {
    if (kernels::startTeam())
      return Status();
    return makeError(StatusCode::ResourceExhausted,
                     "the system refuses to "
                     "start ",
                     threads,
                     " threads; give fewer by --threads, or "
                     "raise the limit (ulimit -u, pids.max)");
  }

  void enterThread() final { kernels::setTeamSize(threads, processors); }

  std::string description() const override {
    return strCat("cpu, ", threads, threads == 1 ? " thread" : " threads");
  }

  std::string compileAdvice() const override { return "zc compile --cpu-arch"; }

  Result<DeviceLimits> measureLimits() override {
    return cpu::measureLimits(threads);
  }

  Result<void *> allocate(uint64_t bytes) override {
    return allocatePages(bytes);
  }
  void place(void *address, uint64_t bytes) override {
    if (!isOffloaded(address))
      kernels::touchPages(address, bytes, threads);
  }
  Result<void *> allocateOffloaded(uint64_t bytes,
                                   const std::string &folder) override {
    assert(!offloaded && "one region is offloaded");
    ZC_ASSIGN_OR_RETURN(offloaded, OffloadFile::create(folder, bytes));
    return static_cast<void *>(offloaded->base());
  }
  void release(void *address, uint64_t bytes) override {
    if (isOffloaded(address))
      offloaded.reset();
    else
      releasePages(address, bytes);
  }

  Status
  checkFeatures(const std::vector<std::string> &features) const override {
    for (const std::string &feature : features)
      if (!hasFeature(feature))
        return makeError(StatusCode::Unsupported, explainLack(feature));
    return Status();
  }

  Status loadCode(const CodeImage &image) override {
    ZC_ASSIGN_OR_RETURN(code, CodeObject::load(image));
    return Status();
  }

  std::string keyOfWays(const Launch &launch) const override {
    return cpu::keyOfWays(launch, threads, matmulPrecision);
  }
  Result<MeasuredWays> measureWays(const Launch &launch,
                                   double seconds) override {
    std::lock_guard<std::mutex> lock(preparing());
    return cpu::measureWays(launch, seconds, matmulPrecision);
  }
  void setWays(const ChosenWays &chosen) override { ways = chosen; }

  Result<std::unique_ptr<Executable>> prepare(const Launch &launch) override;

  Status launch(Executable &executable, StreamId) override {
    return static_cast<CpuExecutable &>(executable).run();
  }
  Status copyIn(void *destination, const void *source, uint64_t bytes,
                StreamId) override {
    if (bytes == 0)
      return Status();
    if (isOffloaded(destination))
      return offloaded->write(destination, source, bytes);
    if (isOffloaded(source))
      return offloaded->read(destination, source, bytes);
    std::memcpy(destination, source, bytes);
    return Status();
  }
  Status copyOut(void *destination, const void *source, uint64_t bytes,
                 StreamId stream) override {
    return copyIn(destination, source, bytes, stream);
  }

  // Every launch is done when it returns, so events have nothing to say.
  Result<EventId> createEvent() override { return events++; }
  Status record(EventId, StreamId) override { return Status(); }
  Status wait(EventId, StreamId) override { return Status(); }
  Status synchronize(StreamId) override { return Status(); }

private:
  ExecutableResult make(const KernelLaunch &kernel) {
    return makeKernel(kernel, code.get(), threads);
  }
  ExecutableResult make(const CopyLaunch &copy) {
    const bool isToFile = isOffloaded(copy.destination);
    return makeCopy(copy, isToFile || isOffloaded(copy.source) ? offloaded.get()
                                                               : nullptr);
  }
  template <typename Call> ExecutableResult make(const Call &call) {
    const kernels::Way way = ways.empty()
                                 ? kernels::Way::Rule
                                 : chosenWay(ways, keyOfWays(Launch(call)));
    if (way != kernels::Way::Rule)
      if (auto made = makeCall(call, matmulPrecision, {way, true}); made.ok())
        return made;
    return makeCall(call, matmulPrecision);
  }

  bool isOffloaded(const void *address) const {
    return offloaded && offloaded->contains(address);
  }

  int threads;
  std::vector<int> processors; // of the threads; empty: any
  kernels::MatmulPrecision matmulPrecision;
  ChosenWays ways;                        // empty: all by rule
  std::unique_ptr<OffloadFile> offloaded; // none: nothing is
  EventId events = 0;
  std::unique_ptr<CodeObject> code;
};

Result<std::unique_ptr<Executable>> CpuDevice::prepare(const Launch &launch) {
  std::lock_guard<std::mutex> lock(preparing());
  return std::visit([&](const auto &each) { return make(each); }, launch);
}

} // namespace

std::unique_ptr<Device> createCpuDevice(const DeviceOptions &options,
                                        Status *status) {
  auto device = std::make_unique<CpuDevice>(options);
  Status started = device->start();
  if (status)
    *status = started;
  if (!started.ok())
    return nullptr;
  return device;
}

} // namespace zc::cpu
