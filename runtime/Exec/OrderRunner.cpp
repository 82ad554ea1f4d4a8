#include "runtime/Exec/OrderRunner.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {

OrderRunner::OrderRunner(Executor &executor)
    : executor(executor), hostLines(executor) {
  Result<RoleUse> found = RoleUse::of(executor.role());
  assert(found.ok() && "the role was verified");
  use = std::move(*found);
}

Status OrderRunner::run(const plan::Order &order,
                        const OrderCallbacks &callbacks) {
  Status status = runOn(order, callbacks);
  if (status.ok())
    status = await([](const Flying &) { return true; });
  flying.clear(); // takes back what a failure has left under way
  return status;
}

Status OrderRunner::runOn(const plan::Order &order,
                          const OrderCallbacks &callbacks) {
  Status status = walk(order, callbacks);
  if (!status.ok())
    flying.clear();
  return status;
}

Status OrderRunner::walk(const plan::Order &order,
                         const OrderCallbacks &callbacks) {
  // Where each action's next feed is.
  std::vector<const plan::Feed *> next(size_t(order.actions_size()) + 1);
  for (int i = order.actions_size() - 1; i >= 0; --i)
    next[size_t(i)] = order.actions(i).has_feed() ? &order.actions(i).feed()
                                                  : next[size_t(i) + 1];
  for (int i = 0; i < order.actions_size(); ++i) {
    const plan::Action &action = order.actions(i);
    if (callbacks.before)
      callbacks.before(action);
    Status status;
    switch (action.kind_case()) {
    case plan::Action::kFeed:
      status = feed(action.feed(), callbacks);
      break;
    case plan::Action::kCall:
      status = call(action.call(), next[size_t(i)], callbacks);
      break;
    case plan::Action::kSend:
      status = move(action.send(), true);
      break;
    case plan::Action::kReceive:
      status = move(action.receive(), false);
      break;
    default:
      assert(false && "verified orders have no other kind");
    }
    ZC_RETURN_IF_ERROR(status);
  }
  return Status();
}

Status OrderRunner::feed(const plan::Feed &feed,
                         const OrderCallbacks &callbacks) {
  const plan::Program &program = executor.role().programs(int(feed.program()));
  ZC_RETURN_IF_ERROR(awaitSlots(ringsOfInputs(program), feed.slots(), nullptr));
  return callbacks.feed(feed);
}

Status OrderRunner::call(const plan::Call &call, const plan::Feed *next,
                         const OrderCallbacks &callbacks) {
  const plan::Program &program = executor.role().programs(int(call.program()));
  ZC_RETURN_IF_ERROR(awaitSlots(ringsOf(program), call.slots(), &call));
  if (callbacks.beforeCall)
    ZC_RETURN_IF_ERROR(callbacks.beforeCall(call));
  const Slots slots = slotsOf(program, call.slots());
  const Clock::time_point begin = Clock::now();
  ZC_RETURN_IF_ERROR(executor.start(program, slots));
  if (callbacks.meanwhile)
    ZC_RETURN_IF_ERROR(callbacks.meanwhile(next));
  ZC_RETURN_IF_ERROR(executor.finish(program));
  if (executor.role().messages_size() > 0)
    for (OrderObserver *observer : observers)
      observer->called(program, call, begin, Clock::now());
  return callbacks.called ? callbacks.called(call) : Status();
}

/// A call or a feed works on its slots only after their messages have ended,
/// but for those that a call reads while they are sent.
Status
OrderRunner::awaitSlots(const std::vector<uint32_t> &rings,
                        const google::protobuf::RepeatedField<uint32_t> &slots,
                        const plan::Call *call) {
  return await([&](const Flying &each) {
    const uint32_t ring = each.message->ring();
    if (call && !awaits(use.program(call->program()), call->micro_batch(),
                        *each.message, each.move.micro_batch()))
      return false;
    return std::count(rings.begin(), rings.end(), ring) > 0 &&
           int(ring) < slots.size() && slots[int(ring)] == each.move.slot();
  });
}

static bool overlap(const plan::Message &a, const plan::Message &b) {
  return a.offset() < b.offset() + *byteCount(b.type()) &&
         b.offset() < a.offset() + *byteCount(a.type());
}

/// A slot's messages of one micro-batch may be under way at the same time,
/// unless one of them writes bytes that another one reads or writes.
Status OrderRunner::awaitBefore(const plan::Message &message,
                                const plan::Move &move) {
  return await([&](const Flying &each) {
    if (each.message->ring() != message.ring() ||
        each.move.slot() != move.slot())
      return false;
    const bool bothRead = each.message->sends() && message.sends();
    return each.move.micro_batch() != move.micro_batch() ||
           (!bothRead && overlap(*each.message, message));
  });
}

Status OrderRunner::move(const plan::Move &move, bool sends) {
  const plan::Message &message = executor.role().messages(int(move.message()));
  assert(message.sends() == sends && "an action is of its own end");
  (void)sends;
  ZC_RETURN_IF_ERROR(awaitBefore(message, move));
  return explain(message, move, post(message, move));
}

Status OrderRunner::post(const plan::Message &message, const plan::Move &move) {
  const Clock::time_point began = Clock::now();
  MessageLines *onDevice = executor.deviceLines();
  MessageLines &lines = onDevice ? *onDevice : hostLines;
  ZC_ASSIGN_OR_RETURN(auto moving, lines.post(message, move.slot()));
  if (message.sends())
    executor.countSent(*byteCount(message.type()));
  flying.push_back({&message, move, std::move(moving), began});
  return Status();
}

Status OrderRunner::await(const std::function<bool(const Flying &)> &isMeant) {
  for (auto each = flying.begin(); each != flying.end();) {
    if (!isMeant(*each)) {
      ++each;
      continue;
    }
    ZC_RETURN_IF_ERROR(explain(*each->message, each->move, end(*each)));
    each = flying.erase(each);
  }
  return Status();
}

Status OrderRunner::end(Flying &flying) {
  const Clock::time_point waited = Clock::now();
  ZC_RETURN_IF_ERROR(flying.moving->await());
  for (OrderObserver *observer : observers)
    observer->moved(*flying.message, flying.move,
                    {flying.began, waited, Clock::now()});
  return Status();
}

/// Adds which message failed. A failure of another rank is left as it is, for
/// that rank explains it.
Status OrderRunner::explain(const plan::Message &message,
                            const plan::Move &move,
                            const Status &status) const {
  if (status.ok() || status.code() == StatusCode::Cancelled)
    return status;
  return status.withContext(
      strCat("role ", executor.mesh().role(executor.world().rank()), ", ",
             message.gradient() ? "gradient" : "activation", " '",
             message.name(), message.sends() ? "' to role " : "' from role ",
             message.peer(), ", micro-batch ", move.micro_batch()));
}

} // namespace zc
