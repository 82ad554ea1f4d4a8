// A device runs a plan: memory, code and streams of one kind of machine. Back
// ends (CPU here; a GPU, a simulator) are plugins behind this interface and
// exchange plain values, so that the program needs no vendor library until it
// uses one.
#ifndef ZC_RUNTIME_DEVICE_DEVICE_H
#define ZC_RUNTIME_DEVICE_DEVICE_H

#include "kernels/Calls/Calls.h"
#include "runtime/Base/Status.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zc {

using StreamId = uint32_t; // CUDA: a stream
using EventId = uint32_t;  // CUDA: an event

/// Machine code of an artifact.
struct CodeImage {
  std::string name;
  std::string_view bytes;
};

/// A generated kernel, by its symbol in the loaded code.
struct KernelLaunch {
  std::string symbol;
  std::vector<void *> buffers;
  std::vector<uint64_t> bufferBytes;
  int64_t grid;
  double flops, bytes; // as planned: very little work is not worth a team
};

struct CopyLaunch {
  const void *source;
  void *destination;
  uint64_t bytes;
};

template <typename List> struct LaunchOf;
template <typename... Calls> struct LaunchOf<kernels::CallList<Calls...>> {
  using Type =
      std::variant<KernelLaunch, CopyLaunch, typename Calls::Launch...>;
};

/// One instruction with its addresses resolved.
using Launch = LaunchOf<kernels::AllCalls>::Type;

/// How a call with several ways is computed.
struct TakenWay {
  /// For people, and why so: "tiles, measured". Empty: there was no choice.
  std::string words;
  /// With fewer products than the plan's FLOPs say, which therefore show no
  /// limit.
  bool hasFewerProducts = false;
};

/// A launch that the device has made ready; launching it allocates nothing.
class Executable {
public:
  virtual ~Executable() = default;

  virtual TakenWay way() const { return {}; }
};

/// The ways of calls, by the keys that a device gives them.
using ChosenWays = std::map<std::string, std::string>;

/// The ways of one call, measured.
struct MeasuredWays {
  std::string quickest;
  std::vector<std::pair<std::string, double>> seconds; // by way, in turn
};

/// A device's peak rates; 0 where one is not known.
struct DeviceLimits {
  double flopsPerSecond = 0; // float32 matrix products
  double bytesPerSecond = 0; // read and written, adding in memory
};

/// Addresses are the device's own; the host reads and writes through copies.
class Device {
public:
  virtual ~Device() = default;

  /// Called by a thread before it prepares or launches, where another thread
  /// may have done so before, or it has worked with another device meanwhile.
  /// CPU: the thread's team gets the device's size, which kernels that it has
  /// prepared rely on.
  virtual void enterThread() {}

  /// "cpu, 2 threads", for people.
  virtual std::string description() const = 0;

  /// Measured now, in some tenths of a second, with memory of its own.
  virtual Result<DeviceLimits> measureLimits() { return DeviceLimits(); }

  /// Zeroed memory, 64-byte aligned. CUDA: cudaMalloc.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  virtual void release(void *address, uint64_t bytes) = 0;

  /// Puts memory that nobody has written yet near those who will compute with
  /// it. CPU: each thread touches its part of the pages first.
  virtual void place(void *, uint64_t) {}

  /// Zeroed memory that is not the device's own, for what it does not need at
  /// the moment: only copies use its addresses. CPU: a mapped file in `folder`
  /// that has no name, so that nothing is left of it however the process ends.
  /// CUDA: pinned memory of the host.
  virtual Result<void *> allocateOffloaded(uint64_t, const std::string &) {
    return Status(StatusCode::Unsupported,
                  "this device offloads nothing; compile without --offload");
  }

  /// The command that makes code for this machine, for messages.
  virtual std::string compileAdvice() const { return "zc compile"; }

  /// Whether the host may use addresses of the device as its own.
  virtual bool hostReadsMemory() const { return true; }

  /// The plugin of the library that has collectives on this device's streams
  /// ("nccl"); empty: they are the host's.
  virtual std::string collectiveLibrary() const { return ""; }

  /// A name unique in the world, of at most 63 characters.
  virtual std::string identity() const { return ""; }

  /// A stream as the maker's libraries take it, with all else that they find
  /// by the thread that calls them. CUDA: a CUstream, the context made current.
  virtual Result<void *> nativeStream(StreamId) {
    return Status(StatusCode::Unsupported, "this device has no streams");
  }

  /// One more stream, behind those that programs use, until the device goes.
  /// Called while no other thread uses the device. CUDA: cuStreamCreate.
  virtual Result<StreamId> addStream() {
    return Status(StatusCode::Unsupported, "this device has no more streams");
  }

  /// Fails naming the first feature that this machine lacks.
  virtual Status
  checkFeatures(const std::vector<std::string> &features) const = 0;

  /// Loads the one code object whose kernels later launches name.
  virtual Status loadCode(const CodeImage &image) = 0;

  /// Names a call that the device may compute in several ways, which round each
  /// in its own order, and the machine that it runs on: equal keys are computed
  /// alike. Its addresses don't matter. Empty: there is one way.
  virtual std::string keyOfWays(const Launch &) const { return ""; }
  /// Measures the ways of such a call in memory of its own, for about
  /// `seconds`.
  virtual Result<MeasuredWays> measureWays(const Launch &, double) {
    return Status(StatusCode::Unsupported, "this device has one way of each");
  }
  /// From now on prepare() takes these ways. A call that is not among them, or
  /// whose way is not known or open here, is computed by rule.
  virtual void setWays(const ChosenWays &) {}

  virtual Result<std::unique_ptr<Executable>> prepare(const Launch &launch) = 0;
  virtual Status launch(Executable &executable, StreamId stream) = 0;

  /// An executable of `host`, which is this machine's processor, that is
  /// launched on this device's streams: it runs behind what they were given
  /// before it, and what they are given next runs behind it. Both must outlive
  /// it. How it fails is told by synchronize(). CUDA: cuLaunchHostFunc.
  virtual Result<std::unique_ptr<Executable>>
  onStreams(Device &, std::unique_ptr<Executable>) {
    return Status(StatusCode::Unsupported,
                  "this device's host computes nothing in its stead; compile "
                  "without --offload update");
  }

  /// Whether a program becomes one executable: launches on stream 0 between the
  /// two calls, and on streams that wait for it, are recorded instead of run.
  /// CUDA: cuStreamBeginCapture, a graph.
  virtual bool capturesPrograms() const { return false; }
  virtual Status beginCapture() { return Status(); }
  virtual Result<std::unique_ptr<Executable>> endCapture() {
    return Status(StatusCode::Unsupported, "this device captures nothing");
  }

  virtual Status copyIn(void *destination, const void *source, uint64_t bytes,
                        StreamId stream) = 0;
  virtual Status copyOut(void *destination, const void *source, uint64_t bytes,
                         StreamId stream) = 0;

  /// Work launched on `stream` after wait() begins once all work before
  /// record() is done.
  virtual Result<EventId> createEvent() = 0;
  virtual Status record(EventId event, StreamId stream) = 0;
  virtual Status wait(EventId event, StreamId stream) = 0;
  /// Whether all work before the last record() of the event is done; fails as
  /// synchronize() does. CUDA: cuEventQuery.
  virtual Result<bool> hasPassed(EventId) {
    return Status(StatusCode::Unsupported, "this device tells of no events");
  }

  /// Returns when everything launched on the stream is done, with the first
  /// failure among it.
  virtual Status synchronize(StreamId stream) = 0;

  /// Whether synchronize() would return at once. CUDA: cuStreamQuery.
  virtual Result<bool> isIdle(StreamId stream) {
    ZC_RETURN_IF_ERROR(synchronize(stream));
    return true;
  }
};

/// Memory that goes back to its device at the end of a scope.
class Region {
public:
  static Result<Region> allocate(Device &device, uint64_t bytes);
  /// In the second memory; see Device::allocateOffloaded.
  static Result<Region> allocateOffloaded(Device &device, uint64_t bytes,
                                          const std::string &folder);
  Region() = default;
  Region(Region &&other) noexcept { *this = std::move(other); }
  Region &operator=(Region &&other) noexcept;
  ~Region();

  char *base() const { return address; }
  uint64_t bytes() const { return size; }

private:
  Region(Device &device, void *address, uint64_t size)
      : device(&device), address(static_cast<char *>(address)), size(size) {}

  Device *device = nullptr;
  char *address = nullptr;
  uint64_t size = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_DEVICE_DEVICE_H
