// `zc-run links`: for `zc plan --calibrate`, how long ranks take to send.
#include "runtime/Driver/MeasureLinks.h"
#include "runtime/Driver/Signals.h"
#include "tools/zc-run/Commands.h"

#include <cstdio>

namespace zc {

namespace {

struct LinksArguments {
  LaunchOptions ranks;
  uint64_t most = 64 << 20;
  double seconds = 0.1;
};

Result<int> measure(const LinksArguments &given, const Rank &rank) {
  if (rank.world.size() < 2)
    return makeError(StatusCode::InvalidArgument,
                     "one rank sends nothing: --local-ranks 2, or a launcher");
  ZC_ASSIGN_OR_RETURN(auto times,
                      measureLinks(rank.world, given.most, given.seconds));
  if (rank.world.isFirst() &&
      std::fputs(linksToJson(rank.world.size(), times).c_str(), stdout) < 0)
    return errnoError("cannot write to standard output");
  return 0;
}

} // namespace

Command addLinksCommand(CLI::App &app) {
  auto given = std::make_shared<LinksArguments>();
  app.add_option("--most", given->most, "bytes of the largest message")
      ->check(CLI::Range(uint64_t(4096), uint64_t(1) << 30));
  app.add_option("--seconds", given->seconds,
                 "how long each size is repeated for")
      ->check(isWithin(0, 100));
  addRankOptions(app, given->ranks);
  return [given] {
    endOnSignals();
    return finish(launch(
        given->ranks, [&](const Rank &rank) { return measure(*given, rank); }));
  };
}

} // namespace zc
