#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cpu/Executables.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Limits.h"
#include "runtime/Device/Cpu/OffloadFile.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace zc::cpu {
namespace {

constexpr uint64_t kHugePage = 2u << 20;

/// 4 KiB; on boards with ARM processors also 16 or 64.
uint64_t pageBytes() {
  static const uint64_t bytes = uint64_t(::sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(const DeviceOptions &options)
      : threads(std::max(1, options.threads)),
        matmulPrecision(options.matmulPrecision) {
    kernels::setTeamSize(threads);
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

  void enterThread() override { kernels::setTeamSize(threads); }

  std::string description() const override {
    return strCat("cpu, ", threads, threads == 1 ? " thread" : " threads");
  }

  std::string compileAdvice() const override { return "zc compile --cpu-arch"; }

  Result<DeviceLimits> measureLimits() override {
    return cpu::measureLimits(threads);
  }

  Result<void *> allocate(uint64_t bytes) override;
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
      ::munmap(address, roundUp(bytes, pageBytes()));
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
    return makeCall(call, matmulPrecision);
  }

  bool isOffloaded(const void *address) const {
    return offloaded && offloaded->contains(address);
  }

  int threads;
  kernels::MatmulPrecision matmulPrecision;
  std::unique_ptr<OffloadFile> offloaded; // none: nothing is
  EventId events = 0;
  std::unique_ptr<CodeObject> code;
};

/// Fresh pages are zero, exactly as many as asked for; large regions begin at a
/// huge page so that the system can back them with such.
Result<void *> CpuDevice::allocate(uint64_t bytes) {
  uint64_t size = roundUp(bytes, pageBytes());
  uint64_t slack = size >= kHugePage ? kHugePage : 0;
  void *mapped = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return errnoError(strCat("cannot allocate ", bytes, " bytes"));
  if (!slack)
    return mapped;
  char *begin = static_cast<char *>(mapped);
  char *aligned = reinterpret_cast<char *>(
      roundUp(reinterpret_cast<uintptr_t>(begin), kHugePage));
  if (aligned > begin)
    ::munmap(begin, aligned - begin);
  if (uint64_t tail = begin + slack - aligned)
    ::munmap(aligned + size, tail);
  ::madvise(aligned, size, MADV_HUGEPAGE);
  return static_cast<void *>(aligned);
}

Result<std::unique_ptr<Executable>> CpuDevice::prepare(const Launch &launch) {
  // Ranks that are threads of one process share the library's cache.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
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
