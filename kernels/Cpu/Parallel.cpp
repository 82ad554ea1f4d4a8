#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Team.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>

namespace zc::kernels {
namespace {

// A thread's share has so many pieces. Others take over the rest of them if the
// thread is kept from running.
constexpr uint32_t kPieces = 4;

struct Call {
  RangeFunction function;
  void *const *buffers;
};

void runRange(void *context, int64_t begin, int64_t end) {
  auto *call = static_cast<Call *>(context);
  call->function(call->buffers, begin, end);
}

} // namespace

void setTeamSize(int threads) { setOwnTeam(threads); }

int teamSize() { return workHint().alone ? 1 : ownTeam().size(); }

bool startTeam() { return ownTeam().start(); }

void parallelFor(int64_t grid, int threads, RangeFunction function,
                 void *const *buffers) {
  if (grid <= 0)
    return;
  int64_t shares = std::min<int64_t>({threads, teamSize(), grid});
  if (shares <= 1)
    return function(buffers, 0, grid);
  Call call{function, buffers};
  ownTeam().run({runRange, &call, grid, uint32_t(shares), kPieces,
                 workHint().seconds, /*meets=*/false});
}

} // namespace zc::kernels
