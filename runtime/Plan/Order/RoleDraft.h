// One order of one role in the making: its calls are known, its slots are not.
#ifndef ZC_RUNTIME_PLAN_ORDER_ROLEDRAFT_H
#define ZC_RUNTIME_PLAN_ORDER_ROLEDRAFT_H

#include "runtime/Plan/Order/RoleUse.h"

namespace zc {

struct PlannedCall {
  uint32_t program, microBatch;
};

/// The slots that an order needs in a ring. A ring that is written and then
/// sent can do with fewer slots than there are messages, at the price of
/// waiting; others have a depth that the order dictates.
struct RingNeed {
  bool isSent = false;
  uint32_t fewest = 0; // 0: nothing uses the ring
  uint32_t most = 0;   // one for each micro-batch
  uint32_t slots = 0;  // what it gets
};

/// Puts feeds and moves around calls, and then gives every micro-batch a slot
/// of each ring for as long as actions use it there. Keeps the role and its use
/// by reference.
class RoleDraft {
public:
  /// `ahead`: receives begin one call before the one that reads them, where
  /// that needs no more slots of rings that other programs use, too.
  RoleDraft(const plan::Role &role, const RoleUse &use, Phase phase,
            std::vector<PlannedCall> calls, bool ahead);

  /// By ring. Those that are sent have the most slots.
  const std::vector<RingNeed> &rings() const { return needs; }

  /// Sets the slots of a ring that is sent: from `fewest` to `most`.
  void setSlots(uint32_t ring, uint32_t slots) { needs[ring].slots = slots; }

  /// From now on micro-batches have the slots in turn, by their numbers.
  void takeTurns() { takesTurns = true; }

  /// The order with its slots.
  plan::Order finish() const;

private:
  /// A micro-batch's use of a ring, from the first action (or call) to the
  /// last.
  struct Interval {
    uint32_t microBatch;
    int first, last;
  };
  using Intervals = std::vector<Interval>; // by `first`

  /// How calls alone use a ring: by which programs, and for how many
  /// micro-batches at once at each call.
  struct CallUse {
    bool isShared = false;
    std::vector<uint32_t> firstCalls; // by micro-batch
    std::vector<uint32_t> held;       // by call
    uint32_t mostHeld = 0;
  };

  std::vector<uint32_t> messagesOf(const PlannedCall &call, bool sends) const;
  std::vector<CallUse> findCallUse() const;
  bool goesAhead(size_t call, const std::vector<CallUse> &ofRings) const;
  bool hasRoom(size_t call, uint32_t ring, const CallUse &callUse) const;
  void addMoves(const PlannedCall &call, bool sends);
  void addCall(const PlannedCall &call);
  std::vector<uint32_t> ringsOf(const plan::Action &action) const;
  void findIntervals();
  /// A slot for every interval of the ring.
  std::vector<uint32_t> colour(uint32_t ring) const;

  const plan::Role &role;
  const RoleUse &use;
  const Phase phase;
  const std::vector<PlannedCall> calls;
  plan::Order order;                // without slots
  std::vector<Intervals> intervals; // by ring
  std::vector<RingNeed> needs;
  bool takesTurns = false;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_ROLEDRAFT_H
