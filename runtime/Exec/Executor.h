// Runs the programs of a role of an artifact on a device: prepare, initialise,
// execute. After prepare nothing is allocated: regions of exactly the planned
// sizes hold everything that the programs use.
#ifndef ZC_RUNTIME_EXEC_EXECUTOR_H
#define ZC_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/Comm/World.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Collectives.h"
#include "runtime/Exec/DeviceLines.h"
#include "runtime/Exec/FeedAhead.h"
#include "runtime/Exec/Observer.h"
#include "runtime/Exec/Orders.h"
#include "runtime/Exec/Streams.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/StateVersions.h"
#include "runtime/Plan/Types.h"

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace zc {

class Executor {
public:
  /// Waits for what the host computes in a step that is under way.
  ~Executor();

  /// Loads code, allocates all regions and prepares every instruction of the
  /// named programs, each once, for all slots that orders call it with; names
  /// that the role does not have are skipped. `artifact`, `device` and `world`,
  /// which has the ranks of the mesh (null: one rank alone), must outlive the
  /// executor. Offloaded tensors go to files in `offloadFolder`; empty: $TMPDIR
  /// or /var/tmp. Memory suffices for `besides`, too, which are not run. The
  /// host's kernels have `hostThreads` threads.
  static Result<std::unique_ptr<Executor>>
  prepare(Device &device, const Artifact &artifact,
          const std::vector<std::string> &programs, World *world = nullptr,
          const std::string &offloadFolder = "",
          const std::vector<std::string> &besides = {}, int hostThreads = 1);

  /// Called by all ranks once all are prepared, and before they run: makes
  /// collectives and messages ready that the ranks must meet for.
  Status connect();

  /// Gives every state its initial value: this rank's part of the artifact's
  /// weights, zeros where it pads, the rest by the init program.
  Status initialise();

  /// Runs a prepared program to its end: its kernels on this thread, its
  /// other streams beside them.
  Status run(const plan::Program &program, const Slots &slots = {}) {
    Status status = start(program, slots);
    return status.ok() ? finish(program) : status;
  }

  /// From now on programs run as in the step after `steps`: that is the newest
  /// version of states with versions.
  void setStepsDone(int64_t steps) {
    newest = role().versions() > 0 ? steps % role().versions() : 0;
  }

  /// Begins a prepared program. A device that has it as one executable works on
  /// it from now on by itself; on others it is done when this returns.
  Status start(const plan::Program &program, const Slots &slots = {});
  /// Waits for the end of a program that was started.
  Status finish(const plan::Program &program);

  /// From now on a prepared program, which has not run yet, computes only these
  /// model outputs, metrics and states. The same on all ranks of the role.
  void keepOutputs(const plan::Program &program,
                   const std::set<std::string> &outputs);

  /// The device's peak rates, measured now.
  Result<DeviceLimits> measureLimits() { return device.measureLimits(); }
  /// Prepares library calls anew, after the device was told other ways.
  Status prepareCallsAgain();
  /// How calls with several ways are computed; see Executable::way().
  std::map<const plan::Instruction *, TakenWay> ways() const;

  /// Tells `observer` of every instruction from now on, once it has ended.
  void addObserver(InstructionObserver &observer) {
    observers.push_back(&observer);
  }

  /// Copies a whole tensor between the host and a buffer of a program, which
  /// may be in flight in one of the slots.
  Status write(const plan::Program &program, uint32_t buffer, const void *bytes,
               const Slots &slots = {});
  Status read(const plan::Program &program, uint32_t buffer, void *bytes,
              const Slots &slots = {});

  /// Where a message lies that has this slot of its ring.
  char *addressOf(const plan::Message &message, uint32_t slot) const {
    return slotOf(message.ring(), slot) + message.offset();
  }
  /// Copies the bytes of a message between the host and its slot, where the
  /// host does not read the device's memory.
  Status readMessage(const plan::Message &message, uint32_t slot, void *bytes);
  Status writeMessage(const plan::Message &message, uint32_t slot,
                      const void *bytes);
  /// Moves messages between devices, after connect(); null: by the host.
  MessageLines *deviceLines() { return lines.get(); }
  /// Counts bytes that this rank sends in a message.
  void countSent(uint64_t bytes) { sentInMessages += bytes; }
  /// Whether the program's inputs can be copied to the device while it runs.
  bool isFedAhead(const plan::Program &program) const {
    return feed && feed->program() == &program;
  }
  /// Does as write() for input `input` of a program that is fed ahead; the
  /// program reads it from the next takeFed() on. `bytes` may be reused at
  /// once.
  Status writeAhead(int input, const void *bytes) {
    return feed->write(input, bytes);
  }
  /// Every input of the program that is fed ahead becomes what was last written
  /// ahead, for the runs with these slots that are started from now on.
  Status takeFed(const Slots &slots = {}) { return feed->take(slots); }
  /// Whether states are the host's; if not, large pieces of them are quicker.
  bool hostReadsMemory() const { return device.hostReadsMemory(); }

  /// Copies `bytes` bytes of a state, from its byte `offset` on; of one with
  /// versions, of the newest but `age`.
  Status writeState(const plan::State &state, uint64_t offset, const void *data,
                    uint64_t bytes, uint32_t age = 0);
  Status readState(const plan::State &state, uint64_t offset, void *data,
                   uint64_t bytes, uint32_t age = 0);

  const Artifact &artifact() const { return theArtifact; }
  /// The role that this rank runs.
  const plan::Role &role() const { return theArtifact.role(); }
  World &world() { return *theWorld; }
  const Mesh &mesh() const { return theMesh; }
  /// Bytes that the programs' collectives and the orders' messages have sent so
  /// far, from this rank; for collectives of the device's library, those that
  /// the plan states.
  uint64_t sentBytes() const {
    return collectives.sentBytes() + sentOnDevice + sentInMessages;
  }
  /// All of the device's memory that was asked for, that of micro-batches in
  /// flight and of the batch that is fed ahead included.
  uint64_t arenaBytes() const { return arena.bytes(); }

private:
  struct Step {
    std::unique_ptr<Executable> executable; // or:
    std::unique_ptr<Collective> collective;
    StreamId stream;
    const plan::Instruction *instruction;            // for messages
    std::unique_ptr<StagedBuffers> staged = nullptr; // of the collective
    bool isLeftOut = false; // what it computes is not asked for
  };
  struct Prepared {
    const plan::Program *program;
    Slots slots;
    int64_t newest = -1; // -1: nothing has versions
    std::vector<Step> steps = {};
    bool uses[kNumStreams] = {true};
    std::unique_ptr<Executable> whole = nullptr; // once it has been captured
    uint64_t sentOnDevice = 0; // by a run, through the device's library
  };

  Executor(Device &device, const Artifact &artifact, const Mesh &mesh,
           World *world)
      : device(device), theArtifact(artifact), theMesh(mesh),
        alone(world ? nullptr : new World), theWorld(world ? world : &*alone),
        collectives(*theWorld, theMesh, artifact.manifest()) {}
  Status loadCode();
  /// `fed`: the program whose next inputs wait in the arena, or null.
  Status allocate(const std::vector<const plan::Program *> &programs,
                  const plan::Program *fed, const std::string &offloadFolder);
  Status prepareFeedAhead(const plan::Program &program, const Orders &orders);
  /// `slots` as slotsOf() makes them of a call of the program.
  AddressMap addressesOf(const plan::Program &program, const Slots &slots,
                         int64_t newest) const;
  AddressMap addressesOf(const plan::Program &program,
                         const Slots &slots) const {
    return addressesOf(program, slots, newest);
  }
  char *slotOf(uint32_t ring, uint32_t slot) const {
    const plan::Ring &r = role().rings(int(ring));
    char *base = r.offloaded()
                     ? offloaded.base() + alignBuffer(role().offloaded_bytes())
                     : arena.base() + flightOffset;
    return base + r.offset() + slot * r.slot_bytes();
  }
  char *addressOf(const plan::State &state, uint32_t age) const {
    char *first =
        (state.offloaded() ? offloaded : arena).base() + state.offset();
    return hasVersions(state) ? first + versionOffset(role(), newest - age)
                              : first;
  }
  /// The program of `programs` that is fed ahead, or null.
  const plan::Program *
  findFed(const std::vector<const plan::Program *> &programs) const;
  Status prepareProgram(const plan::Program &program, const Slots &slots,
                        int64_t newest);
  Prepared &findPrepared(const plan::Program &program, const Slots &slots);
  Status prepareStep(const plan::Program &program, const AddressMap &map,
                     Step &step);
  Status prepareCollective(const plan::Program &program, const AddressMap &map,
                           Step &step);
  Status connectLines();
  void placeOnce(char *state, uint64_t bytes);
  Status loadWeights();
  Status loadTensor(const FileTensor &tensor);
  Status writeCoordinates();
  Status execute(Step &step);
  Status synchronize(StreamId stream);
  Status runCollective(Step &step);
  Status runStep(Prepared &program, size_t index);
  Status runStream(Prepared &program, uint32_t stream);
  Status runStreams(Prepared &program);
  bool isCaptured(const Prepared &program) const;
  Status order(StreamId earlier, StreamId later);
  Status enqueueAll(Prepared &program);
  Status capture(Prepared &program);
  Status startCaptured(Prepared &program);
  Status launch(const plan::Program &program, Step &step);

  Device &device;
  std::unique_ptr<Device> host; // null: it computes nothing
  const Artifact &theArtifact;
  const Mesh theMesh;
  std::unique_ptr<World> alone; // where there are no other ranks
  World *theWorld;
  Collectives collectives;
  Region arena; // persistent region, transient one, flight, fed ahead
  uint64_t transientOffset = 0, flightOffset = 0, feedOffset = 0; // in it
  Region offloaded;
  std::set<char *> placed;            // states that have been written
  std::unique_ptr<DeviceLines> lines; // ends before the regions
  std::unique_ptr<FeedAhead> feed;    // null: nothing is fed ahead
  std::vector<Prepared> prepared;
  int64_t newest = 0;     // of the role's versions
  bool capturing = false; // launches are recorded, not done
  uint64_t sentOnDevice = 0, sentInMessages = 0;
  std::vector<InstructionObserver *> observers;
  std::mutex observing; // streams end instructions at the same time
  StreamProgress progress;
  /// Threads of the streams but the main one; they end before their buffers.
  std::array<SideThread, kNumStreams - 1> sideThreads;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_EXECUTOR_H
