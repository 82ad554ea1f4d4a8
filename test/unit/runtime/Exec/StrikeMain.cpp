// One rank of a pipeline, by torchrun's variables. Rank 1 strikes itself in the
// second step, while the named program computes; the others say how they ended.
#include "runtime/Comm/Launcher.h"
#include "test/unit/runtime/Exec/Chain.h"

#include <csignal>
#include <cstdio>
#include <cstring>

using namespace zc;

static Status train(World &world, const char *path, const char *program,
                    int signal) {
  ZC_ASSIGN_OR_RETURN(Artifact artifact, Artifact::load(path));
  const Artifact view = artifact.forRole(world.rank());
  int steps = 0; // that have been begun
  std::string current;
  OrderCallbacks callbacks;
  callbacks.before = [&](const plan::Action &action) {
    current.clear();
    if (!action.has_call())
      return;
    current = view.role().programs(int(action.call().program())).name();
    if (current == "apply")
      ++steps; // a call ends with the step
  };
  callbacks.meanwhile = [&](const plan::Feed *) {
    const bool isSecond = steps + (current != "apply") == 2;
    if (world.rank() == 1 && isSecond && current == program)
      std::raise(signal);
    return Status();
  };
  test::Found found;
  return test::runChain(artifact, world, callbacks, found);
}

int main(int, char **argv) {
  Result<std::unique_ptr<Transport>> transport = connectToLauncher(20);
  if (!transport.ok() || !*transport) {
    std::printf("no transport: %s\n", transport.status().message().c_str());
    return 1;
  }
  World world(std::move(*transport));
  world.setTimeout(std::chrono::milliseconds(2000));
  const int signal = std::strcmp(argv[3], "kill") == 0 ? SIGKILL : SIGSTOP;
  Status status = train(world, argv[1], argv[2], signal);
  if (!status.ok())
    status = world.fail(status);
  std::printf("%s\n", status.ok() ? "well" : status.message().c_str());
  return 0;
}
