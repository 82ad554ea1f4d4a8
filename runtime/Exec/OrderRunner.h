// Walks an order: feeds, calls and messages of one step, or of the evaluation
// of one batch.
#ifndef ZC_RUNTIME_EXEC_ORDERRUNNER_H
#define ZC_RUNTIME_EXEC_ORDERRUNNER_H

#include "runtime/Exec/HostLines.h"
#include "runtime/Plan/Order/RoleUse.h"

#include <deque>
#include <functional>
#include <vector>

namespace zc {

/// Callbacks of an order, for those who know where samples come from.
struct OrderCallbacks {
  /// Before each action, whatever its kind. May be empty.
  std::function<void(const plan::Action &action)> before;
  /// In front of a call, once its slots are free. May be empty.
  std::function<Status(const plan::Call &call)> beforeCall;
  /// Writes the inputs of a program.
  std::function<Status(const plan::Feed &feed)> feed;
  /// While the device works on a call: `next` is the feed that comes next in
  /// the order, null where it has no more. May be empty.
  std::function<Status(const plan::Feed *next)> meanwhile;
  /// After a call; its transient buffers are still there. May be empty.
  std::function<Status(const plan::Call &call)> called;
};

/// Used by one thread, which is the executor's.
class OrderRunner {
public:
  /// The executor, which must outlive it, has prepared what the orders call.
  explicit OrderRunner(Executor &executor);

  /// Tells `observer` of every action and instruction from now on.
  void addObserver(OrderObserver &observer) {
    executor.addObserver(observer);
    observers.push_back(&observer);
  }

  /// Returns when every message has ended. `order` is of the executor's role.
  Status run(const plan::Order &order, const OrderCallbacks &callbacks);

  /// Runs it, but leaves messages in flight to the order that follows.
  Status runOn(const plan::Order &order, const OrderCallbacks &callbacks);

private:
  using Clock = InstructionObserver::Clock;

  /// A message that is under way.
  struct Flying {
    const plan::Message *message;
    plan::Move move;
    std::unique_ptr<MovingMessage> moving;
    Clock::time_point began;
  };

  Status walk(const plan::Order &order, const OrderCallbacks &callbacks);
  Status feed(const plan::Feed &feed, const OrderCallbacks &callbacks);
  Status call(const plan::Call &call, const plan::Feed *next,
              const OrderCallbacks &callbacks);
  Status move(const plan::Move &move, bool sends);
  Status post(const plan::Message &message, const plan::Move &move);
  Status awaitSlots(const std::vector<uint32_t> &rings,
                    const google::protobuf::RepeatedField<uint32_t> &slots,
                    const plan::Call *call);
  Status awaitBefore(const plan::Message &message, const plan::Move &move);
  Status await(const std::function<bool(const Flying &)> &isMeant);
  Status end(Flying &flying);
  Status explain(const plan::Message &message, const plan::Move &move,
                 const Status &status) const;

  Executor &executor;
  RoleUse use; // of the executor's role
  std::vector<OrderObserver *> observers;
  HostLines hostLines;       // where the executor has no lines of its device
  std::deque<Flying> flying; // in the order in which they began
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_ORDERRUNNER_H
