// A process of mpirun, one of two or of any number for "collectives": does the
// named check and says how it ended.
#include "runtime/Comm/Launcher.h"
#include "test/unit/runtime/Comm/CollectiveChecks.h"
#include "test/unit/runtime/Comm/MessageChecks.h"

#include <cstdio>

using namespace zc;

static Status check(World &world, const std::string &name,
                    const std::string &file) {
  auto over = [&] {
    for (int i = 0; i < 4000 && !std::ifstream(file).good(); ++i)
      std::this_thread::sleep_for(test::Milliseconds(5));
  };
  if (name == "lines") {
    ZC_RETURN_IF_ERROR(test::manyLines(world));
    ZC_RETURN_IF_ERROR(test::takenBack(world));
    return test::besideCollectives(world);
  }
  if (name == "collectives") {
    test::GroupRank rank{world.all()};
    ZC_RETURN_IF_ERROR(test::checkCollectives(rank));
    return test::countsSentBytes(rank);
  }
  if (name == "moves")
    return test::movesMeanwhile(world, file);
  Status status = test::isKeptWaiting(world, name == "send", over);
  if (world.rank() == 0)
    std::ofstream(file) << "over";
  return status;
}

int main(int argc, char **argv) {
  Result<std::unique_ptr<Transport>> transport = connectToLauncher(20);
  if (!transport.ok() || !*transport) {
    std::printf("no transport: %s\n", transport.status().message().c_str());
    return 1;
  }
  World world(std::move(*transport));
  world.setTimeout(test::Milliseconds(20000));
  Status status = check(world, argv[1], argc > 2 ? argv[2] : "");
  std::printf("rank %d: %s\n", world.rank(),
              status.ok() ? "well" : status.message().c_str());
  return 0;
}
