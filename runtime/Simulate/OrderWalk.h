// One role's way through its order in simulated time: its next action, and its
// waits. Decides as runtime/Exec/OrderRunner does.
#ifndef ZC_RUNTIME_SIMULATE_ORDERWALK_H
#define ZC_RUNTIME_SIMULATE_ORDERWALK_H

#include "runtime/Simulate/Simulation.h"
#include "runtime/Simulate/TimedPrograms.h"

#include <functional>
#include <vector>

namespace zc {

/// The interface of a walk to the simulation around it.
class SimulatedWorld {
public:
  virtual ~SimulatedWorld() = default;
  virtual double now() const = 0;
  /// Calls walk.wake() of the role in so many seconds.
  virtual void computeFor(uint32_t role, uint32_t stream, double seconds) = 0;
  /// Begins a collective of a role; finished() of its stream follows.
  virtual void collect(uint32_t role, uint32_t stream,
                       const TimedInstruction &instruction) = 0;
  /// Begins one end of a message; the answer names the transfer.
  virtual uint32_t post(uint32_t role, const plan::Message &message,
                        uint32_t microBatch) = 0;
  virtual bool hasEnded(uint32_t transfer) const = 0;
};

/// A message that a role has begun to send or to receive.
struct MovingMessage {
  const plan::Message *message;
  uint32_t microBatch, slot;
};

/// Whether a message must have ended before its role goes on to an action: one
/// that uses its slot.
bool mustEndBefore(const plan::Role &role, const RoleUse &use,
                   const plan::Action &action, const MovingMessage &moving);

class OrderWalk {
public:
  OrderWalk(uint32_t index, const plan::Role &role, const RoleUse &use,
            const plan::Order &order, const TimedPrograms &programs,
            const SimulatedDevice &device, SimulatedWorld &world,
            std::vector<SimulatedSpan> *spans);

  /// Goes on as far as possible; to be called at the begin, and whenever a
  /// message of the role has ended.
  void proceed();

  /// The instruction that a stream was at has ended; of a collective of several
  /// roles, it waited for the last of these until `met`.
  void finished(uint32_t stream, double met = -1);

  bool isDone() const { return state == State::Done; }
  /// Times so far.
  const SimulatedRole &times() const { return role; }
  SimulatedRole &times() { return role; }
  /// The action that it is at, for messages.
  int position() const { return next; }

private:
  enum class State { Walking, Calling, Done };

  struct Flying : MovingMessage {
    uint32_t transfer;
  };

  struct Stream {
    size_t next = 0; // in the program's list of the stream
    int64_t last = -1;
    bool isBusy = false;
    double began = 0;
  };

  bool act(const plan::Action &action);
  bool await(const std::function<bool(const Flying &)> &isMeant);
  void beginMove(const plan::Move &move);
  void beginCall(const plan::Call &call);
  void advanceStreams();
  bool isReady(const TimedProgram &program, uint32_t instruction,
               uint32_t &cause) const;
  void begin(uint32_t stream, uint32_t instruction);
  void endCall();
  void expose();
  double waitedUntilMet(double began);
  int causeOfWait() const;
  void addSpan(SimulatedSpan span);

  const uint32_t index;
  const plan::Role &source;
  const RoleUse &use;
  const plan::Order &order;
  const TimedPrograms &programs;
  const SimulatedDevice &device;
  SimulatedWorld &world;
  std::vector<SimulatedSpan> *spans;

  State state = State::Walking;
  int next = 0;
  std::vector<Flying> flying;
  const TimedProgram *program = nullptr; // that is called
  const plan::Call *call = nullptr;
  bool isStarting = false; // the host prepares the call
  double callBegan = 0, waitBegan = -1;
  double idleBegan = -1; // of the main stream, while a program runs
  double met = -1;       // when the roles of the latest collective have met
  int idleCause = -1;
  Stream streams[kSimulatedStreams];
  SimulatedRole role;
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_ORDERWALK_H
