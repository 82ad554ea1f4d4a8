// The checker against a simulator: whatever is done to an order, either the
// checker refuses it or it runs to its end.
#include "test/unit/runtime/Plan/Order/RendezvousSimulator.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace zc::test {
namespace {

class Mutator {
public:
  Mutator(plan::Manifest &manifest, std::mt19937 &random)
      : manifest(manifest), random(random),
        role(*manifest.mutable_roles(below(manifest.roles_size()))),
        actions(*role.mutable_train()->mutable_actions()) {}

  void mutate() {
    switch (below(10)) {
    case 0:
      return swapNeighbours();
    case 1:
      return actions.SwapElements(below(actions.size()), below(actions.size()));
    case 2:
      return shift();
    case 3:
      return actions.DeleteSubrange(below(actions.size()), 1);
    case 4:
      *actions.Add() = plan::Action(actions.Get(below(actions.size())));
      return;
    case 5:
      return changeSlot();
    case 6:
      return shrinkRing();
    case 7:
      return changeMicroBatch();
    case 8:
      return removeAheads();
    default:
      return swapOnLine();
    }
  }

private:
  int below(int count) {
    return count < 2 ? 0
                     : std::uniform_int_distribution<int>(0, count - 1)(random);
  }

  void swapNeighbours() {
    int at = below(actions.size() - 1);
    actions.SwapElements(at, at + 1);
  }

  /// Takes one action a few places up or down.
  void shift() {
    int at = below(actions.size()), step = below(2) ? 1 : -1;
    for (int i = below(6); i >= 0; --i)
      if (at + step >= 0 && at + step < actions.size()) {
        actions.SwapElements(at, at + step);
        at += step;
      }
  }

  plan::Move *moveAt(int index) {
    plan::Action *action = actions.Mutable(index);
    if (action->has_send())
      return action->mutable_send();
    return action->has_receive() ? action->mutable_receive() : nullptr;
  }

  void changeSlot() {
    int index = below(actions.size());
    if (plan::Move *move = moveAt(index))
      move->set_slot(uint32_t(below(4)));
    else if (actions.Get(index).has_call())
      actions.Mutable(index)->mutable_call()->set_slots(
          below(role.rings_size()), uint32_t(below(4)));
  }

  /// One slot less (or, now and then, more); its users take another.
  void shrinkRing() {
    const uint32_t ring = uint32_t(below(role.rings_size()));
    plan::Ring *shrunk = role.mutable_rings(int(ring));
    const uint32_t slots = shrunk->slots() + (below(4) ? -1 : 1);
    if (slots == 0 || slots > 64)
      return;
    shrunk->set_slots(slots);
    role.set_flight_bytes(role.flight_bytes() + 4096);
    shrunk->set_offset(role.flight_bytes() - 4096);
    for (plan::Action &action : actions) {
      if (action.has_call())
        action.mutable_call()->set_slots(
            int(ring), action.call().slots(int(ring)) % slots);
      plan::Move *move = action.has_send()      ? action.mutable_send()
                         : action.has_receive() ? action.mutable_receive()
                                                : nullptr;
      if (move && role.messages(int(move->message())).ring() == ring)
        move->set_slot(move->slot() % slots);
    }
  }

  void changeMicroBatch() {
    int index = below(actions.size());
    const uint32_t k = uint32_t(below(int(manifest.accumulate())));
    if (plan::Move *move = moveAt(index))
      move->set_micro_batch(k);
    else if (actions.Get(index).has_call())
      actions.Mutable(index)->mutable_call()->set_micro_batch(k);
  }

  /// Receives go right before or behind their neighbours, several at once.
  void removeAheads() {
    for (int i = 0; i + 1 < actions.size(); ++i)
      if (actions.Get(i).has_receive() && actions.Get(i + 1).has_call() &&
          below(2))
        actions.SwapElements(i, i + 1);
  }

  /// Two messages of one line change places at both ends.
  void swapOnLine() {
    const uint32_t line =
        role.messages_size() ? role.messages(below(role.messages_size())).line()
                             : 0;
    const int offset = below(3);
    for (plan::Role &holder : *manifest.mutable_roles()) {
      std::vector<int> at;
      auto &all = *holder.mutable_train()->mutable_actions();
      for (int i = 0; i < all.size(); ++i)
        if (const plan::Move *move = moveOf(all.Get(i));
            move && holder.messages(int(move->message())).line() == line)
          at.push_back(i);
      if (size_t(offset) + 1 < at.size())
        all.SwapElements(at[size_t(offset)], at[size_t(offset) + 1]);
    }
  }

  plan::Manifest &manifest;
  std::mt19937 &random;
  plan::Role &role;
  google::protobuf::RepeatedPtrField<plan::Action> &actions;
};

/// One action a line, with its numbers.
std::string describe(const plan::Order &order) {
  std::ostringstream text;
  const auto place = [&](const char *kind, const auto &program) {
    text << kind << " program " << program.program() << ", micro-batch "
         << program.micro_batch() << "\n";
  };
  const auto move = [&](const char *kind, const plan::Move &message) {
    text << kind << " message " << message.message() << ", micro-batch "
         << message.micro_batch() << ", slot " << message.slot() << "\n";
  };
  for (const plan::Action &action : order.actions())
    if (action.has_call())
      place("call", action.call());
    else if (action.has_feed())
      place("feed", action.feed());
    else if (action.has_send())
      move("send", action.send());
    else
      move("receive", action.receive());
  return text.str();
}

struct Counts {
  int agreed = 0;   // refused, and did not finish
  int strict = 0;   // refused, but finished
  int accepted = 0; // and finished
  int wrong = 0;    // accepted, and did not finish
  int unchanged = 0;
};

Counts mutateMany(const plan::Manifest &base, std::mt19937 &random, int times) {
  Counts counts;
  const std::string before = base.SerializeAsString();
  for (int i = 0; i < times; ++i) {
    plan::Manifest mutant = base;
    for (int j = std::uniform_int_distribution<int>(1, 2)(random); j > 0; --j)
      Mutator(mutant, random).mutate();
    if (mutant.SerializeAsString() == before) {
      ++counts.unchanged;
      continue;
    }
    const Status status = verifyOrders(mutant);
    const Ending ending = RendezvousSimulator(mutant).run();
    if (ending == Ending::Finished)
      ++(status.ok() ? counts.accepted : counts.strict);
    else
      ++(status.ok() ? counts.wrong : counts.agreed);
    if (status.ok() && ending != Ending::Finished)
      ADD_FAILURE() << (ending == Ending::Stuck ? "stuck" : "wrong") << "\n"
                    << describe(mutant.roles(0).train());
    if (::testing::Test::HasFailure())
      break;
  }
  return counts;
}

/// With what an order of that schedule needs.
FakePipeline pipelineOf(const std::string &schedule, uint32_t roles, uint32_t m,
                        bool skip) {
  FakePipeline pipeline{roles, m};
  pipeline.skip = skip;
  pipeline.stashInput = skip;
  pipeline.micro = !skip;
  pipeline.vee = schedule == "zb-v";
  // Units of one stage stay; of two, they make room for each other.
  pipeline.reshardEvery = m % 2 ? m : 2;
  pipeline.unitStride = 0;
  pipeline.weights = schedule[0] == 'z';
  if (pipeline.vee || schedule == "interleaved") {
    pipeline.chunks = 2;
    pipeline.skipTo = roles + 1;
  }
  return pipeline;
}

const std::vector<std::vector<uint32_t>> kReplicas = {
    {2}, {4}, {2, 1}, {1, 2}, {2, 2}, {3, 1}, {2, 3}, {4, 2, 1}, {1, 2, 1}};

FakePipeline replicatedPipeline(const std::vector<uint32_t> &replicas,
                                uint32_t m, bool skip) {
  FakePipeline pipeline{std::accumulate(replicas.begin(), replicas.end(), 0u),
                        m};
  pipeline.replicas = replicas;
  pipeline.skip = skip;
  pipeline.stashInput = skip;
  pipeline.micro = !skip;
  return pipeline;
}

TEST(OrderMutations, ReplicasAreBuiltToFinish) {
  for (const char *schedule : {"naive", "gpipe", "1f1b"})
    for (const std::vector<uint32_t> &replicas : kReplicas)
      for (uint32_t m : {4, 5, 8, 12})
        for (bool skip : {false, true}) {
          plan::Manifest manifest =
              fakePipeline(replicatedPipeline(replicas, m, skip), schedule);
          SCOPED_TRACE(strCat(schedule, " ", replicas.size(), " stages, ",
                              manifest.roles_size(), " roles, ", m));
          ASSERT_GT(manifest.roles_size(), 0);
          const Status status = verifyOrders(manifest);
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(RendezvousSimulator(manifest).run(), Ending::Finished);
        }
}

TEST(OrderMutations, OfReplicasRefusedOrRunsToItsEnd) {
  std::mt19937 random(77);
  Counts sum;
  for (const char *schedule : {"naive", "gpipe", "1f1b"})
    for (const std::vector<uint32_t> &replicas : kReplicas)
      for (uint32_t m : {4, 6}) {
        Counts counts = mutateMany(
            fakePipeline(replicatedPipeline(replicas, m, m == 6), schedule),
            random, 150);
        sum.agreed += counts.agreed;
        sum.strict += counts.strict;
        sum.accepted += counts.accepted;
        ASSERT_EQ(counts.wrong, 0);
      }
  RecordProperty("refused", sum.agreed);
  RecordProperty("refused_though_it_finishes", sum.strict);
  RecordProperty("accepted", sum.accepted);
  EXPECT_GE(sum.agreed + sum.strict + sum.accepted, 4000);
  EXPECT_GT(sum.accepted, 200);
  EXPECT_LT(sum.strict, sum.agreed / 10);
}

TEST(OrderMutations, TheSimulatorFinishesWhatIsBuilt) {
  for (const char *schedule :
       {"naive", "gpipe", "1f1b", "zb-h1", "zb-h2", "interleaved", "zb-v"})
    for (uint32_t roles : {1, 2, 3, 4})
      for (uint32_t m : {1, 2, 5, 8, 12})
        for (bool skip : {false, true}) {
          if (!makeSchedule({schedule, roles, m, 2}).ok())
            continue;
          plan::Manifest manifest =
              fakePipeline(pipelineOf(schedule, roles, m, skip), schedule);
          ASSERT_GT(manifest.roles_size(), 0) << schedule;
          EXPECT_EQ(RendezvousSimulator(manifest).run(), Ending::Finished)
              << schedule << " " << roles << "x" << m;
        }
}

TEST(OrderMutations, RefusedOrRunsToItsEnd) {
  std::mt19937 random(20260);
  Counts sum;
  for (const char *schedule :
       {"naive", "gpipe", "1f1b", "zb-h1", "interleaved", "zb-v"})
    for (uint32_t roles : {2, 3, 4})
      for (uint32_t m : {1, 3, 4, 6})
        for (bool skip : {false, true}) {
          if (!makeSchedule({schedule, roles, m, 2}).ok())
            continue;
          SCOPED_TRACE(strCat(schedule, " ", roles, "x", m, " ", skip));
          Counts counts = mutateMany(
              fakePipeline(pipelineOf(schedule, roles, m, skip), schedule),
              random, 190);
          sum.agreed += counts.agreed;
          sum.strict += counts.strict;
          sum.accepted += counts.accepted;
          sum.wrong += counts.wrong;
          sum.unchanged += counts.unchanged;
          ASSERT_EQ(counts.wrong, 0);
        }
  RecordProperty("refused", sum.agreed);
  RecordProperty("refused_though_it_finishes", sum.strict);
  RecordProperty("accepted", sum.accepted);
  EXPECT_GE(sum.agreed + sum.strict + sum.accepted, 15000);
  EXPECT_GT(sum.agreed, 5000);
  EXPECT_GT(sum.accepted, 1000);
  EXPECT_LT(sum.strict, sum.agreed / 10);
}

} // namespace
} // namespace zc::test
