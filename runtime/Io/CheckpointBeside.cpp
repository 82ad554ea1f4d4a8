#include "runtime/Io/CheckpointBeside.h"
#include "runtime/Base/Hash.h"
#include "runtime/Base/Memory.h"
#include "runtime/Io/CheckpointSave.h"
#include "runtime/Io/PartFile.h"

#include <algorithm>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zc {

using namespace checkpoint;

namespace {

// A piece stays in the processor's cache between copying it and looking at it.
constexpr uint64_t kCopyChunk = 256 * 1024;
constexpr uint64_t kWriteChunk = 4 << 20;
// Behind the channels of a program's groups, which count from 1.
constexpr uint32_t kLastChannel = kFirstLineChannel - 1;
// The share of a host's free memory to use: others may need the rest.
constexpr double kUsablePart = 0.8;

/// Pages of this process alone.
class Pages {
public:
  Pages() = default;
  Pages(const Pages &) = delete;
  ~Pages() {
    if (address)
      ::munmap(address, size);
  }

  Status allocate(uint64_t bytes) {
    if (address || bytes == 0)
      return Status();
    void *found = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
      return errnoError("no memory for a copy of the states (--save-beside "
                        "off needs none)");
    ::madvise(found, bytes, MADV_HUGEPAGE); // where there are such pages
    address = found;
    size = bytes;
    constexpr uint64_t kPage = 4096; // the system gives it when it is touched
    for (uint64_t at = 0; at < bytes; at += kPage)
      base()[at] = 0;
    return Status();
  }
  char *base() const { return static_cast<char *>(address); }

private:
  void *address = nullptr;
  uint64_t size = 0;
};

std::vector<int> allRanks(const World &world) {
  std::vector<int> ranks(size_t(world.size()));
  for (size_t r = 0; r < ranks.size(); ++r)
    ranks[r] = int(r);
  return ranks;
}

} // namespace

struct CheckpointBeside::Work {
  Work(Executor &executor, uint32_t channel)
      : executor(executor), layout(executor),
        group(executor.world().group(allRanks(executor.world()),
                                     kLastChannel - channel)) {
    // As far behind a page's begin as in the file, so that it need not be
    // copied once more to be written.
    constexpr uint64_t kPage = PartFile::kPage;
    for (const Part &part : layout.parts()) {
      bytes += (kPage + part.place % kPage - bytes % kPage) % kPage;
      places.push_back(bytes);
      bytes += part.bytes;
    }
  }

  Status copyStates() {
    thread.wait();
    if (allocated.ok() && !copy.base())
      allocated = copy.allocate(bytes);
    ZC_RETURN_IF_ERROR(allocated);
    const uint64_t most = executor.hostReadsMemory() ? kCopyChunk : kWriteChunk;
    for (size_t i = 0; i < places.size(); ++i) {
      const Part &part = layout.parts()[i];
      for (uint64_t at = 0; at < part.bytes; at += most)
        ZC_RETURN_IF_ERROR(readPart(executor, part, at,
                                    copy.base() + places[i] + at,
                                    std::min(most, part.bytes - at)));
    }
    return Status();
  }

  void write() {
    ::pthread_setname_np(::pthread_self(), "zc-saves"); // for those who look
    auto read = [&](size_t index, uint64_t at,
                    uint64_t) -> Result<const char *> {
      return copy.base() + places[index] + at;
    };
    result = save->write(executor.world(), read, kWriteChunk, group.get());
    save.reset(); // what it has not finished goes away
    ended = true;
  }

  Executor &executor;
  const CheckpointLayout layout;
  std::unique_ptr<Communicator> group;
  std::vector<uint64_t> places; // of the parts in the copy
  uint64_t bytes = 0;
  Pages copy;
  Status allocated;
  std::optional<CheckpointSave> save;
  Result<std::string> result = std::string();
  std::atomic<bool> ended{false};
  SideThread thread; // ends first
};

CheckpointBeside::CheckpointBeside(Executor &executor, uint32_t channel)
    : work(std::make_unique<Work>(executor, channel)) {}

CheckpointBeside::~CheckpointBeside() = default;

uint64_t CheckpointBeside::copyBytes() const { return work->bytes; }

Result<bool> CheckpointBeside::hasRoom() {
  World &world = work->executor.world();
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const uint64_t mine[2] = {hashBytes(host), work->bytes};
  std::vector<uint64_t> all(2 * size_t(world.size()));
  ZC_RETURN_IF_ERROR(world.all().allGather(mine, all.data(), sizeof(mine)));
  uint64_t wanted = 0;
  for (size_t r = 0; r < all.size(); r += 2)
    wanted += all[r] == mine[0] ? all[r + 1] : 0;
  bool isShort = double(wanted) > kUsablePart * double(freeMemory());
  for (const Part &part : work->layout.parts())
    isShort |= part.tensor->state->offloaded();
  std::vector<int64_t> anyShort = {isShort};
  ZC_RETURN_IF_ERROR(world.agree(Status(), &anyShort));
  return anyShort[0] == 0;
}

void CheckpointBeside::allocateBeside() {
  work->thread.start(
      [this] { work->allocated = work->copy.allocate(work->bytes); });
}

Status CheckpointBeside::begin(const std::string &dir,
                               const TrainState &state) {
  World &world = work->executor.world();
  ZC_ASSIGN_OR_RETURN(
      CheckpointSave save,
      CheckpointSave::begin(work->executor, work->layout, dir, state));
  ZC_RETURN_IF_ERROR(world.agree(work->copyStates()));
  work->save.emplace(std::move(save));
  work->ended = false;
  hasBegun = true;
  work->thread.start([this] { work->write(); });
  return Status();
}

bool CheckpointBeside::hasEnded() const { return work->ended; }

Result<std::string> CheckpointBeside::finish() {
  work->thread.wait();
  hasBegun = false;
  return work->result;
}

} // namespace zc
