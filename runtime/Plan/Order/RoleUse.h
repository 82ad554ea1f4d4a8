// An order's view of a role: the part of a step that each program is, and the
// rings that it uses.
#ifndef ZC_RUNTIME_PLAN_ORDER_ROLEUSE_H
#define ZC_RUNTIME_PLAN_ORDER_ROLEUSE_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

#include <set>
#include <vector>

namespace zc {

/// The orders that a role has.
enum class Phase { Train, TrainLate, Eval };
constexpr Phase kPhases[] = {Phase::Train, Phase::TrainLate, Phase::Eval};

const char *phaseName(Phase phase);
const plan::Order &orderOf(const plan::Role &role, Phase phase);
plan::Order *mutableOrderOf(plan::Role &role, Phase phase);

/// Whether the phase moves the message.
bool isOf(const plan::Message &message, Phase phase);

/// The parts of a step; some programs are several at once.
enum Part : uint32_t {
  kForwardPart = 1,
  kBackwardPart = 2,
  kWeightsPart = 4,
  kApplyPart = 8,
  kLateApplyPart = 16, // behind the freeze step
  kEvalPart = 32,
  kGatherPart = 64, // of the units that micro-batches read
  kMicroParts = kForwardPart | kBackwardPart | kWeightsPart,
  kStepParts = kMicroParts | kApplyPart,
};

/// The part that reads a received message, or that writes a sent one.
Part partOf(const plan::Message &message);

/// An order's view of a program.
struct ProgramUse {
  uint32_t parts = 0; // 0: runs outside of orders
  uint32_t chunk = 0; // of which of the role's stages
  bool hasInputs = false;
  std::vector<uint32_t> rings;      // that it has buffers in; ascending
  std::vector<uint32_t> inputRings; // those of them that hold inputs
  // The role's states of kind GATHERED that it has buffers in; ascending.
  std::vector<uint32_t> gathered;
};

/// Whether calls of a program read what this end receives, or write what it
/// sends.
inline bool isEndOf(const ProgramUse &program, const plan::Message &message) {
  return (partOf(message) & program.parts) && message.chunk() == program.chunk;
}

/// Whether a call of a micro-batch waits for a message that is under way in a
/// slot of its own: all but what it only reads while it is sent.
inline bool awaits(const ProgramUse &program, uint32_t microBatch,
                   const plan::Message &message, uint32_t ofMicroBatch) {
  return !message.sends() || microBatch != ofMicroBatch ||
         isEndOf(program, message);
}

struct Touch {
  uint32_t ring, slot;
};

/// The micro-batches that a role computes: as replica `turn` of the `turns`
/// replicas of its stage; none if `turns` is 0.
struct Turn {
  uint32_t turn = 0, turns = 1;

  static Turn of(const plan::Role &role) {
    return {role.turns() ? role.turn() : 0, role.turns() ? role.turns() : 1};
  }
  /// An evaluation goes through the first replica of each stage.
  Turn in(Phase phase) const {
    if (phase != Phase::Eval)
      return *this;
    return turn == 0 ? Turn() : Turn{0, 0};
  }
  bool has(uint32_t microBatch) const {
    return turns > 0 && microBatch % turns == turn;
  }
  /// How many of the first `microBatches`.
  uint32_t count(uint32_t microBatches) const {
    return turns == 0 ? 0
                      : microBatches / turns + (microBatches % turns > turn);
  }
  /// The number of a micro-batch among the role's own.
  uint32_t placeOf(uint32_t microBatch) const {
    return turns == 0 ? 0 : microBatch / turns;
  }
};

/// The programs of one role. Reads buffers, inputs and names alone.
class RoleUse {
public:
  /// Fails where a buffer lies in a ring that there is not, where an input is
  /// no buffer, and where the role's turn is none of its turns.
  static Result<RoleUse> of(const plan::Role &role);

  /// The micro-batches that the role computes.
  Turn turn(Phase phase) const { return own.in(phase); }

  /// Whether a message is sent for a micro-batch: both of its ends compute it.
  /// For a RoleUse of useOfRoles().
  bool moves(Phase phase, uint32_t message, uint32_t microBatch) const {
    return own.in(phase).has(microBatch) &&
           peers[message].in(phase).has(microBatch);
  }

  const ProgramUse &program(uint32_t index) const { return programs[index]; }

  /// The program with exactly these parts of a stage, or -1.
  int find(uint32_t parts, uint32_t chunk = 0) const;

  /// How many stages the role has.
  uint32_t chunks() const { return numChunks; }

  /// The slots that an action reads or writes; its indices are sound.
  std::vector<Touch> touches(const plan::Role &role,
                             const plan::Action &action) const;

private:
  friend Result<std::vector<RoleUse>>
  useOfRoles(const plan::Manifest &manifest);

  std::vector<ProgramUse> programs;
  uint32_t numChunks = 1;
  Turn own;
  std::vector<Turn> peers; // of messages
};

/// Notes that a program has gathered its units: they are whole from here on,
/// those that share bytes with them no longer. By the role's states.
void gather(const plan::Role &role, const ProgramUse &program,
            std::set<uint32_t> &whole);

/// For every role; failures name it.
Result<std::vector<RoleUse>> useOfRoles(const plan::Manifest &manifest);

uint32_t microBatchOf(const plan::Action &action);

/// The move of an action that sends or receives, or null.
const plan::Move *moveOf(const plan::Action &action);

/// "role 1, train action 5 (receive of message 3 'h', micro-batch 2)".
std::string printAction(const plan::Manifest &manifest, uint32_t role,
                        Phase phase, int action);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_ROLEUSE_H
