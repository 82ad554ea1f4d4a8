#include "test/unit/runtime/Plan/Order/RendezvousSimulator.h"

namespace zc::test {

/// Lets the messages pass that both ends offer.
bool RendezvousSimulator::transfer() {
  bool advances = false;
  for (size_t from = 0; from < places.size(); ++from)
    for (auto &[line, queue] : places[from].lines) {
      if (queue.empty() || !role(from).messages(int(queue[0].message)).sends())
        continue;
      const Offer sent = queue.front();
      const uint32_t to = role(from).messages(int(sent.message)).peer();
      std::deque<Offer> &other = places[to].lines[line];
      if (other.empty())
        continue;
      const Offer received = other.front();
      if (received.id != sent.id || received.microBatch != sent.microBatch)
        wrong = true;
      take(to, received.ring, received.slot, received.microBatch)
          .written.insert(-1 - int(received.message));
      if (!places[to].received.insert({sent.id, sent.microBatch}).second)
        wrong = true;
      queue.pop_front();
      other.pop_front();
      advances = true;
    }
  return advances;
}

/// Whether all of a step has happened, once.
bool RendezvousSimulator::isComplete() {
  const uint32_t count = microBatchesOf(manifest);
  for (size_t i = 0; i < places.size(); ++i) {
    auto done = [&](const std::string &name, uint32_t k) {
      auto at = places[i].done.find(strCat(name, " ", k));
      return at == places[i].done.end() ? 0u : at->second;
    };
    for (uint32_t k = 0; k < count; ++k) {
      for (const plan::Program &program : role(i).programs()) {
        const std::string name =
            program.name().substr(0, program.name().find('.'));
        const bool isMicro = name == "forward" || name == "backward" ||
                             name == "weight_gradients";
        if (isMicro &&
            done(program.name(), k) + done("micro", k) != uint32_t(isOwn(i, k)))
          return false;
      }
      for (const plan::Message &message : role(i).messages())
        if (!message.sends() && !message.eval() && isOwn(i, k) &&
            isOwn(message.peer(), k) &&
            !places[i].received.count({message.id(), k}))
          return false;
    }
    if (done("apply", 0) != 1)
      return false;
  }
  return true;
}

} // namespace zc::test
