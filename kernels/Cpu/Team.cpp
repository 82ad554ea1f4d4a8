#include "kernels/Cpu/Team.h"
#include "kernels/Cpu/Pin.h"
#include "runtime/Base/Company.h"

#include <algorithm>
#include <csignal>
#include <sched.h>
#include <system_error>
#include <utility>

namespace zc::kernels {
namespace {

// Seconds of work from which on it pays to wake others: a sleeper needs 50
// microseconds or so.
constexpr double kWorthWaking = 100e-6;
// Seconds that a waking counts where others want a processor: they lose it, or
// keep the helper from its work.
constexpr double kWakingAmongOthers = 100e-6;
// Work that is done alone pays back a debt by this part of its seconds, so that
// on a busy machine a team is at most so much slower than one thread.
constexpr double kRepaid = 0.1;
// Seconds that others may cost before they are asked no more, and that they may
// cost further once they have saved as many.
constexpr double kMostDebt = 1e-3, kMostCredit = 10e-3;
// Seconds, by the estimate, from which on threads that are awake share a job.
// To hand it over takes a microsecond; from caches a job takes a third of what
// is estimated (a network of such jobs took 1.3 times as long at 3
// microseconds).
constexpr double kWorthSharing = 10e-6;

/// Signals are for the threads that the program has of its own.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

/// Where part `index` of `parts` equal ones begins.
int64_t beginOf(int64_t index, int64_t parts, int64_t size) {
  return size / parts * index + std::min(index, size % parts);
}

/// A helper is woken by its bit; many threads share one.
uint32_t groupOf(uint32_t thread) { return 1u << (thread % 32); }
uint32_t groupsBelow(uint32_t threads) {
  return threads >= 32 ? ~0u : (1u << threads) - 1;
}

uint32_t piecesOf(const TeamJob &job, uint32_t share) {
  int64_t size = beginOf(share + 1, job.shares, job.grid) -
                 beginOf(share, job.shares, job.grid);
  return uint32_t(std::min<int64_t>(size, job.pieces));
}

/// Until it is told otherwise, a thread has a team for all processors.
std::unique_ptr<Team> &teamOfThread() {
  static thread_local auto team =
      std::make_unique<Team>(int(std::thread::hardware_concurrency()));
  return team;
}

uint64_t pack(uint32_t number, uint32_t pieces) {
  return uint64_t(number) << 32 | pieces;
}

} // namespace

Team::Team(int size, std::vector<int> processors)
    : theSize(std::max(1, size)), theProcessors(std::move(processors)),
      claims(new Claims[theSize]) {}

Team::~Team() {
  over = true;
  current.add(1);
  current.wake();
  for (std::thread &helper : helpers)
    helper.join();
}

bool Team::start() try {
  if (helpers.size() + 1 >= size_t(theSize))
    return true;
  BlockedSignals blocked;
  while (helpers.size() + 1 < size_t(theSize)) {
    uint32_t thread = uint32_t(helpers.size() + 1);
    helpers.emplace_back([this, thread] { help(thread); });
  }
  return true;
} catch (const std::system_error &) {
  return false;
}

void Team::help(uint32_t thread) {
  uint32_t seen = 0;
  Company &company = ownCompany();
  Pin pin(theProcessors, thread, company);
  while (true) {
    uint32_t number = current.load();
    if (over)
      return;
    if (number == seen) {
      current.waitWhile(seen, groupOf(thread));
      continue;
    }
    seen = number;
    const Clock::time_point now = Clock::now();
    pin.review(callersProcessor.load(std::memory_order_relaxed), now);
    if (company.isThere(now)) // of several helpers, whoever believes it longest
      disturbedUntil = std::max(disturbedUntil.load(),
                                company.end().time_since_epoch().count());
    TeamJob job = readJob();
    FloatMode mode = shown.mode.load(std::memory_order_acquire);
    if (shown.number.load() != number || thread >= job.shares)
      continue;
    setFloatMode(mode);
    takePart(job, number, thread);
  }
}

TeamJob Team::readJob() const {
  return {shown.work.load(std::memory_order_acquire),
          shown.context.load(std::memory_order_acquire),
          shown.grid.load(std::memory_order_acquire),
          shown.shares.load(std::memory_order_acquire),
          shown.pieces.load(std::memory_order_acquire),
          /*seconds=*/0,
          /*meets=*/false};
}

/// The number first: who reads anything of this job sees that it has begun.
void Team::show(uint32_t number, const TeamJob &job) {
  shown.number.store(number);
  shown.work.store(job.work, std::memory_order_release);
  shown.context.store(job.context, std::memory_order_release);
  shown.grid.store(job.grid, std::memory_order_release);
  shown.shares.store(job.shares, std::memory_order_release);
  shown.pieces.store(job.pieces, std::memory_order_release);
  shown.mode.store(floatMode(), std::memory_order_release);
}

bool Team::paysToShare(const TeamJob &job) {
  if (job.meets)
    return true;
  if (job.shares <= 1 || job.seconds < kWorthSharing)
    return false;
  if (debt <= 0)
    sharing = true;
  if (!sharing)
    debt -= kRepaid * job.seconds;
  return sharing;
}

/// A job that is over before a sleeper is awake costs the waking alone; of many
/// in a row a thread that is awake can do its part.
bool Team::paysToWake(const TeamJob &job) {
  if (!current.hasSleepers())
    return false;
  missed += job.seconds;
  if (!job.meets && missed < kWorthWaking)
    return false;
  missed = 0;
  return true;
}

double Team::costOfWaking() const {
  const Clock::time_point now = Clock::now();
  return now.time_since_epoch().count() < disturbedUntil ||
                 ownCompany().isThere(now)
             ? kWakingAmongOthers
             : 0;
}

/// Helpers read what lies beside it: it is written only where it changes.
void Team::noteCallersProcessor() {
  if (theProcessors.empty())
    return;
  const int now = ::sched_getcpu();
  if (now != callersProcessor.load(std::memory_order_relaxed))
    callersProcessor.store(now, std::memory_order_relaxed);
}

void Team::run(const TeamJob &job) {
  if (!paysToShare(job))
    return job.work(job.context, 0, job.grid);
  start();
  noteCallersProcessor();
  uint32_t pieces = 0;
  for (uint32_t share = 0; share < job.shares; ++share)
    pieces += piecesOf(job, share);
  const Clock::time_point begin = Clock::now();
  const uint32_t number = current.load() + 1;
  left.store(pieces);
  show(number, job);
  current.add(1);
  const bool woken = paysToWake(job);
  if (woken)
    current.wake(groupsBelow(job.shares));
  const Clock::time_point ready = woken ? Clock::now() : begin;
  const uint32_t own = takePart(job, number, 0);
  const Clock::time_point middle = Clock::now();
  while (uint32_t open = left.load())
    left.waitWhile(open);
  if (job.meets || own == 0)
    return;
  const std::chrono::duration<double> waking = ready - begin,
                                      working = middle - ready,
                                      whole = Clock::now() - begin;
  // A caller that was itself kept from running would seem to have been saved
  // much.
  const double saved =
      own < pieces ? std::min(working.count() * pieces / own - whole.count(),
                              job.seconds)
                   : -waking.count();
  account(saved - (woken ? costOfWaking() : 0));
}

/// Seconds that the others saved the caller, or cost it when they were kept
/// from running amid their work. Before they are asked again, the cost must be
/// saved elsewhere, or be a small part of the work that is done without them.
void Team::account(double saved) {
  debt = std::max(debt - saved, -kMostCredit);
  sharing = sharing && debt < kMostDebt;
}

/// Returns how many pieces this thread did.
uint32_t Team::takePart(const TeamJob &job, uint32_t number, uint32_t thread) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < job.shares; ++i)
    done += workOn(number, job, (thread + i) % job.shares);
  if (done > 0 && left.add(-done) == done)
    left.wake();
  return done;
}

/// The same, of one share.
uint32_t Team::workOn(uint32_t number, const TeamJob &job, uint32_t share) {
  const int64_t begin = beginOf(share, job.shares, job.grid);
  const int64_t size = beginOf(share + 1, job.shares, job.grid) - begin;
  const uint32_t pieces = piecesOf(job, share);
  uint32_t done = 0;
  for (uint32_t piece; claim(number, share, pieces, &piece); ++done)
    job.work(job.context, begin + beginOf(piece, pieces, size),
             begin + beginOf(piece + 1, pieces, size));
  return done;
}

/// A thread that comes too late finds the share taken, in its job or in a later
/// one.
bool Team::claim(uint32_t number, uint32_t share, uint32_t pieces,
                 uint32_t *piece) {
  std::atomic<uint64_t> &claimed = claims[share].value;
  uint64_t found = claimed.load(std::memory_order_acquire);
  while (true) {
    bool begun = uint32_t(found >> 32) == number;
    if (int32_t(uint32_t(found >> 32) - number) > 0) // of a later job
      return false;
    *piece = begun ? uint32_t(found) : 0;
    if (*piece >= pieces)
      return false;
    if (claimed.compare_exchange_weak(found, pack(number, *piece + 1)))
      return true;
  }
}

Team &ownTeam() { return *teamOfThread(); }

void setOwnTeam(int size, const std::vector<int> &processors) {
  std::unique_ptr<Team> &team = teamOfThread();
  if (team->size() != std::max(1, size) || team->processors() != processors)
    team = std::make_unique<Team>(size, processors);
}

} // namespace zc::kernels
