// The one team of threads of a rank, for generated kernels and for oneDNN's
// parallel regions alike (see OpenMp.cpp): a second pool would make both wait
// (measured: 7-64% on small operators). OpenMP's own teams hand every thread
// its part and wait for all of them: on a busy machine each kernel waits for a
// thread that others keep from running. Here whoever runs takes the work that
// is left, and nobody waits for a thread that has not begun.
#ifndef ZC_KERNELS_CPU_TEAM_H
#define ZC_KERNELS_CPU_TEAM_H

#include "kernels/Cpu/SleepWord.h"
#include "kernels/Cpu/Underflow.h"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace zc::kernels {

/// Work to be done by a team: [0, grid) in equal shares, one a thread, each of
/// which is taken in up to `pieces` pieces. A thread begins with its own share,
/// where its caches may hold what it needs, and then helps with the others'.
struct TeamJob {
  using Work = void (*)(void *context, int64_t begin, int64_t end);

  Work work;
  void *context;
  int64_t grid;
  uint32_t shares;
  uint32_t pieces;
  double seconds; // of one thread for all of it, about
  /// Shares may wait for one another: each needs a thread of its own.
  bool meets;
};

class Team {
public:
  /// The calling thread and size - 1 helpers, which start with the first job.
  /// `processors`: one for each of them to stay on, the caller's first; empty:
  /// they go where the system wants them (see Pin.h).
  explicit Team(int size, std::vector<int> processors = {});
  ~Team();
  Team(const Team &) = delete;

  int size() const { return theSize; }
  const std::vector<int> &processors() const { return theProcessors; }

  /// Starts the helpers. False: the system gives no more threads.
  bool start();

  /// Does a job of at most size() shares; returns when it is done. Where shares
  /// meet they are of one piece: no thread gets to a second one before the end.
  void run(const TeamJob &job);

private:
  using Clock = std::chrono::steady_clock;

  /// The claims on one share. They have a cache line of their own, because
  /// mostly the share's thread writes them.
  struct alignas(64) Claims {
    std::atomic<uint64_t> value{0}; // the job's number, the pieces taken
  };
  /// Threads that come late may read the next job, or half of it; by the number
  /// they see that.
  struct Shown {
    std::atomic<uint32_t> number{0};
    std::atomic<TeamJob::Work> work{nullptr};
    std::atomic<void *> context{nullptr};
    std::atomic<int64_t> grid{0};
    std::atomic<uint32_t> shares{0}, pieces{0};
    std::atomic<FloatMode> mode{0}; // the caller's, for all parts alike
  };

  void help(uint32_t thread);
  void show(uint32_t number, const TeamJob &job);
  TeamJob readJob() const;
  bool paysToShare(const TeamJob &job);
  bool paysToWake(const TeamJob &job);
  double costOfWaking() const;
  void noteCallersProcessor();
  void account(double saved);
  uint32_t takePart(const TeamJob &job, uint32_t number, uint32_t thread);
  uint32_t workOn(uint32_t number, const TeamJob &job, uint32_t share);
  bool claim(uint32_t number, uint32_t share, uint32_t pieces, uint32_t *piece);

  const int theSize;
  const std::vector<int> theProcessors;
  std::atomic<int> callersProcessor{-1}; // where it was last seen
  /// Until when a helper believes that others want its processor.
  std::atomic<Clock::rep> disturbedUntil{0};
  std::vector<std::thread> helpers;
  std::unique_ptr<Claims[]> claims; // one a share
  Shown shown;
  double missed = 0; // seconds of work that sleepers could have helped with
  double debt = 0;   // seconds that others cost more than they saved
  bool sharing = true;
  std::atomic<bool> over{false};
  alignas(64) SleepWord current{0}; // the job's number; helpers wait for it
  alignas(64) SleepWord left{0};    // pieces not done; the caller waits for 0
};

/// The calling thread's team. Every thread that runs kernels has its own.
Team &ownTeam();
/// Makes it one of that size, on these processors.
void setOwnTeam(int size, const std::vector<int> &processors = {});

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_TEAM_H
