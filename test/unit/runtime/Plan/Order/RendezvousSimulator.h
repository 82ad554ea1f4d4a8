// Runs orders with nothing buffered, step by step and with no knowledge of the
// checker's: a message passes only while both ends offer it at the heads of
// their lines. Follows whose data is where.
#ifndef ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_RENDEZVOUSSIMULATOR_H
#define ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_RENDEZVOUSSIMULATOR_H

#include "test/unit/runtime/Plan/Order/FakePipeline.h"

#include <deque>
#include <functional>
#include <set>

namespace zc::test {

enum class Ending {
  Finished,
  Stuck, // some role waits for ever
  Wrong, // data of another micro-batch was used, or something did not happen
};

class RendezvousSimulator {
public:
  explicit RendezvousSimulator(const plan::Manifest &manifest)
      : manifest(manifest), places(size_t(manifest.roles_size())) {}

  Ending run() {
    for (bool advances = true; advances && !wrong;) {
      advances = false;
      for (size_t i = 0; i < places.size() && !wrong; ++i)
        while (!wrong && advance(i))
          advances = true;
      advances = transfer() || advances;
    }
    if (wrong)
      return Ending::Wrong;
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].next < role(i).train().actions_size())
        return Ending::Stuck;
    for (Place &place : places)
      for (auto &[line, queue] : place.lines)
        if (!queue.empty())
          return Ending::Stuck;
    return isComplete() ? Ending::Finished : Ending::Wrong;
  }

private:
  struct Offer {
    uint32_t message, id, microBatch;
    uint32_t ring, slot;
  };
  /// A slot's owner, and the writers (-1 - message, or a program's first
  /// letter) that have written to it.
  struct Slot {
    int64_t owner = -1;
    std::set<int> written;
  };
  struct Place {
    int next = 0;
    std::map<uint32_t, std::deque<Offer>> lines; // begun and not ended
    std::map<std::pair<uint32_t, uint32_t>, Slot> slots;
    std::map<std::string, uint32_t> done; // calls by program and micro-batch
    std::set<std::pair<uint32_t, uint32_t>> received; // id, micro-batch
    std::map<uint64_t, int> units; // which stage's unit lies at an offset
  };

  const plan::Role &role(size_t i) const { return manifest.roles(int(i)); }

  using IsHarmless = std::function<bool(const plan::Message &, uint32_t)>;

  bool isPending(const Place &place, uint32_t ring, uint32_t slot,
                 int64_t exceptMicroBatch,
                 const IsHarmless &isHarmless = nullptr) const {
    const plan::Role &holder = role(size_t(&place - places.data()));
    for (const auto &[line, queue] : place.lines)
      for (const Offer &offer : queue)
        if (offer.ring == ring && offer.slot == slot &&
            int64_t(offer.microBatch) != exceptMicroBatch &&
            !(isHarmless && isHarmless(holder.messages(int(offer.message)),
                                       offer.microBatch)))
          return true;
    return false;
  }

  /// Whether a role computes the micro-batch, being one of its stage's.
  bool isOwn(size_t i, uint32_t microBatch) const {
    return role(i).turns() == 0 ||
           microBatch % role(i).turns() == role(i).turn();
  }

  static int code(char part, int chunk) { return part + 256 * chunk; }

  /// The slot, in the micro-batch's hands from here on.
  Slot &take(size_t i, uint32_t ring, uint32_t slot, uint32_t microBatch) {
    if (slot >= role(i).rings(int(ring)).slots())
      wrong = true;
    Slot &taken = places[i].slots[{ring, slot}];
    if (taken.owner != microBatch)
      taken = {int64_t(microBatch), {}};
    return taken;
  }

  std::set<uint32_t> ringsOf(const plan::Program &program) const {
    std::set<uint32_t> rings;
    for (const plan::Buffer &buffer : program.buffers())
      if (buffer.space() == plan::FLIGHT)
        rings.insert(buffer.ring());
    return rings;
  }

  bool advance(size_t i) {
    if (places[i].next >= role(i).train().actions_size())
      return false;
    const plan::Action &action = role(i).train().actions(places[i].next);
    bool advances = true;
    if (action.has_call())
      advances = call(i, action.call());
    else if (action.has_feed())
      feed(i, action.feed());
    else if (action.has_send() || action.has_receive())
      advances = move(i, action.has_send() ? action.send() : action.receive(),
                      action.has_send());
    else
      wrong = true;
    places[i].next += advances;
    return advances;
  }

  void feed(size_t i, const plan::Feed &feed) {
    // The inputs' bytes are the next call's: no other may come between.
    const plan::Order &order = role(i).train();
    int next = places[i].next + 1;
    while (next < order.actions_size() && !order.actions(next).has_call() &&
           !order.actions(next).has_feed())
      ++next;
    if (next >= order.actions_size() || !order.actions(next).has_call() ||
        order.actions(next).call().program() != feed.program() ||
        order.actions(next).call().micro_batch() != feed.micro_batch())
      wrong = true;
    places[i].done[strCat("fed ", feed.program())] = feed.micro_batch() + 1;
  }

  bool call(size_t i, const plan::Call &call) {
    Place &place = places[i];
    const plan::Program &program = role(i).programs(int(call.program()));
    const std::set<uint32_t> rings = ringsOf(program);
    const uint32_t k = call.micro_batch();
    const std::string &whole = program.name();
    const std::string name = whole.substr(0, whole.find('.'));
    const int chunk =
        name == whole ? 0 : std::stoi(whole.substr(name.size() + 1));
    for (const plan::Buffer &buffer : program.buffers())
      if (buffer.name().rfind("unit.", 0) == 0) {
        if (name == "gather")
          place.units[buffer.offset()] = chunk;
        const auto unit = place.units.find(buffer.offset());
        if (unit == place.units.end() || unit->second != chunk)
          wrong = true;
      }
    if (name == "apply")
      place.units.clear();
    const bool forward = name == "forward" || name == "micro";
    const bool backward = name == "backward" || name == "micro";
    for (uint32_t ring : rings)
      if (isPending(place, ring, call.slots(int(ring)), -1,
                    [&](const plan::Message &message, uint32_t microBatch) {
                      // It reads what another call has written and sends.
                      const bool writes =
                          int(message.chunk()) == chunk &&
                          (message.gradient() ? backward : forward);
                      return message.sends() && microBatch == k && !writes;
                    }))
        return false;
    if (program.inputs_size() > 0 &&
        place.done[strCat("fed ", call.program())] != k + 1)
      wrong = true;
    for (int m = 0; m < role(i).messages_size(); ++m) {
      const plan::Message &message = role(i).messages(m);
      if (!message.sends() && !message.eval() && isOwn(message.peer(), k) &&
          int(message.chunk()) == chunk &&
          (message.gradient() ? backward : forward) &&
          !take(i, message.ring(), call.slots(int(message.ring())), k)
               .written.count(-1 - m))
        wrong = true;
    }
    for (uint32_t ring : rings) {
      Slot &slot = take(i, ring, call.slots(int(ring)), k);
      const std::string &ringName = role(i).rings(int(ring)).name();
      if (ringName.rfind("stash", 0) == 0) {
        if (name == "backward" && !slot.written.count(code('f', chunk)))
          wrong = true;
        if (name == "weight_gradients" && !slot.written.count(code('b', chunk)))
          wrong = true;
      }
      // From the stage in front, or with gradients from the one behind.
      if (ringName.rfind("local", 0) == 0) {
        const int writer = code(name[0], backward ? chunk + 1 : chunk - 1);
        if (backward ? chunk == 0 : chunk > 0)
          wrong = wrong || !slot.written.count(writer);
      }
      if (forward)
        slot.written.insert(code('f', chunk));
      if (backward)
        slot.written.insert(code('b', chunk));
    }
    ++place.done[strCat(whole, " ", k)];
    return true;
  }

  bool move(size_t i, const plan::Move &move, bool sends) {
    const plan::Message &message = role(i).messages(int(move.message()));
    const uint32_t k = move.micro_batch();
    if (isPending(places[i], message.ring(), move.slot(), k))
      return false;
    Slot &slot = take(i, message.ring(), move.slot(), k);
    if (message.sends() != sends || message.eval() ||
        (sends && !slot.written.count(code(message.gradient() ? 'b' : 'f',
                                           int(message.chunk())))))
      wrong = true;
    places[i].lines[message.line()].push_back(
        {move.message(), message.id(), k, message.ring(), move.slot()});
    return true;
  }

  /// Lets the messages pass that both ends offer.
  bool transfer();
  /// Whether all of a step has happened, once.
  bool isComplete();

  const plan::Manifest &manifest;
  std::vector<Place> places;
  bool wrong = false;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_PLAN_ORDER_RENDEZVOUSSIMULATOR_H
