#include "runtime/Plan/Channels.h"
#include "test/unit/runtime/Plan/Order/FakePipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace zc::test {
namespace {

using Change = std::function<void(plan::Manifest &)>;

/// Checks that a sound pipeline is refused once it is changed, and why.
void refuses(const Change &change, const std::string &why,
             const FakePipeline &pipeline = {},
             const std::string &schedule = "1f1b") {
  plan::Manifest manifest = fakePipeline(pipeline, schedule);
  ASSERT_TRUE(verifyOrders(manifest).ok());
  change(manifest);
  Status status = verifyOrders(manifest);
  EXPECT_EQ(status.code(), StatusCode::Corrupt) << why;
  EXPECT_NE(status.message().find(why), std::string::npos)
      << "'" << status.message() << "' has no '" << why << "'";
}

plan::Role &role(plan::Manifest &manifest, int index) {
  return *manifest.mutable_roles(index);
}

plan::Action &action(plan::Manifest &manifest, int roleIndex, int index) {
  return *role(manifest, roleIndex).mutable_train()->mutable_actions(index);
}

/// The n-th train action that fits.
int find(plan::Manifest &manifest, int roleIndex,
         const std::function<bool(const plan::Action &)> &fits, int n = 0) {
  const plan::Order &order = role(manifest, roleIndex).train();
  for (int i = 0; i < order.actions_size(); ++i)
    if (fits(order.actions(i)) && n-- == 0)
      return i;
  ADD_FAILURE() << "there is no such action";
  return 0;
}

bool isSend(const plan::Action &action) { return action.has_send(); }
bool isReceive(const plan::Action &action) { return action.has_receive(); }
bool isCall(const plan::Action &action) { return action.has_call(); }
bool isFeed(const plan::Action &action) { return action.has_feed(); }

void erase(plan::Manifest &manifest, int roleIndex, int index) {
  role(manifest, roleIndex)
      .mutable_train()
      ->mutable_actions()
      ->DeleteSubrange(index, 1);
}

/// Calls of a program.
auto isCallOf(const plan::Manifest &manifest, int roleIndex,
              const std::string &name) {
  return [&role = manifest.roles(roleIndex), name](const plan::Action &action) {
    return action.has_call() &&
           role.programs(int(action.call().program())).name() == name;
  };
}

TEST(VerifyOrders, UnitsAreGatheredInTheStep) {
  FakePipeline pipeline;
  pipeline.reshardEvery = 2;
  auto drop = [](const char *program, int n) {
    return [=](plan::Manifest &m) {
      erase(m, 0, find(m, 0, isCallOf(m, 0, program), n));
    };
  };
  refuses(drop("gather", 0), "'unit.0', which was not gathered", pipeline);
  // The second group reads what the first one's has left: the same bits.
  plan::Manifest manifest = fakePipeline(pipeline, "1f1b");
  drop("gather", 1)(manifest);
  EXPECT_TRUE(verifyOrders(manifest).ok());
  // Another stage's unit is there.
  pipeline.chunks = 2;
  pipeline.micro = false;
  pipeline.unitStride = 0;
  refuses(drop("gather.1", 0), "'unit.1', which was not gathered", pipeline,
          "interleaved");
  refuses(drop("gather.1", 1), "overwritten", pipeline, "interleaved");
  refuses(
      [](plan::Manifest &m) {
        addBuffer(*role(m, 1).mutable_programs(0), plan::PERSISTENT, 32,
                  plan::F32, {4});
      },
      "has a buffer '' where units are gathered", pipeline, "interleaved");
  // An evaluation has no step's parameters.
  refuses(
      [](plan::Manifest &m) {
        for (plan::Program &program : *role(m, 1).mutable_programs())
          if (program.name() == "eval")
            addBufferOf(program, role(m, 1).states(0));
      },
      "'unit.0', which was not gathered",
      [] {
        FakePipeline evaluated;
        evaluated.reshardEvery = 4;
        return evaluated;
      }());
}

/// Puts the first role's stash, and what lies there, into the second memory.
void offloadStash(plan::Manifest &m) {
  plan::Role &first = role(m, 0);
  const uint32_t stash = ringOf(first, "stash");
  first.mutable_rings(int(stash))->set_offloaded(true);
  for (plan::Program &program : *first.mutable_programs())
    for (plan::Buffer &buffer : *program.mutable_buffers())
      if (buffer.space() == plan::FLIGHT && buffer.ring() == stash)
        buffer.set_offloaded(true);
}

TEST(VerifyOrders, RingsMayLieInTheSecondMemory) {
  plan::Manifest manifest = fakePipeline({});
  offloadStash(manifest);
  ASSERT_TRUE(buildOrders(manifest, {"1f1b", 4}).ok());
  const plan::Role &first = manifest.roles(0);
  const plan::Ring &stash = first.rings(int(ringOf(first, "stash")));
  EXPECT_EQ(stash.offset(), 0u);
  EXPECT_EQ(first.offloaded_flight_bytes(), stash.slots() * stash.slot_bytes());
  EXPECT_EQ(first.flight_bytes(),
            fakePipeline({}, "1f1b").roles(0).flight_bytes() -
                stash.slots() * stash.slot_bytes());
  EXPECT_TRUE(verifyOrders(manifest).ok());
  refuses(
      [](plan::Manifest &m) {
        role(m, 0)
            .mutable_rings(int(ringOf(role(m, 0), "stash")))
            ->set_offloaded(true);
        role(m, 0).set_offloaded_flight_bytes(1 << 20);
      },
      "is in another memory than its ring");
  refuses(offloadStash, "lie outside of the flight space");
  refuses(
      [](plan::Manifest &m) {
        offloadStash(m);
        role(m, 0).set_offloaded_flight_bytes(uint64_t(1) << 50);
      },
      "its flight space has");
  FakePipeline inStash;
  inStash.stashInput = true;
  refuses(
      [](plan::Manifest &m) {
        plan::Role &last = role(m, 1);
        last.set_offloaded_flight_bytes(1 << 20);
        for (plan::Ring &ring : *last.mutable_rings())
          ring.set_offloaded(true);
        for (plan::Program &program : *last.mutable_programs())
          for (plan::Buffer &buffer : *program.mutable_buffers())
            buffer.set_offloaded(buffer.space() == plan::FLIGHT);
      },
      "it lies in a ring in the second memory", inStash);
}

TEST(VerifyOrders, IndicesAreInRange) {
  auto set = [](auto fits, auto change) {
    return [=](plan::Manifest &m) { change(action(m, 0, find(m, 0, fits))); };
  };
  refuses(
      set(isCall, [](plan::Action &a) { a.mutable_call()->set_program(99); }),
      "the role has 4 programs");
  refuses(
      set(isFeed, [](plan::Action &a) { a.mutable_feed()->set_program(99); }),
      "the role has");
  refuses(
      set(isSend, [](plan::Action &a) { a.mutable_send()->set_message(99); }),
      "send of message 99, micro-batch 0): the role has 3 messages");
  refuses(set(isSend, [](plan::Action &a) { a.mutable_send()->set_slot(9); }),
          "slot 9 of ring 'activations.out'");
  refuses(set(isReceive,
              [](plan::Action &a) { a.mutable_receive()->set_micro_batch(4); }),
          "there are 4 micro-batches");
  refuses(set(isCall, [](plan::Action &a) { a.mutable_call()->clear_slots(); }),
          "it has slots of 0 rings");
  refuses(
      set(isCall, [](plan::Action &a) { a.mutable_call()->set_slots(0, 77); }),
      "no slot of ring 'stash'");
  refuses(set(isCall, [](plan::Action &a) { a.clear_call(); }),
          "it does nothing");
}

TEST(VerifyOrders, SlotsOfUnusedRingsAreZero) {
  refuses(
      [](plan::Manifest &m) {
        const uint32_t ring = ringOf(m.roles(0), "gradients.in");
        action(m, 0, find(m, 0, isCall))
            .mutable_call()
            ->set_slots(int(ring), 1);
      },
      "ring 'gradients.in', which the program does not use");
}

TEST(VerifyOrders, RingsLieInTheFlightSpace) {
  refuses([](plan::Manifest &m) { role(m, 0).set_flight_bytes(64); },
          "role 0, ring 0 'stash': bytes 0 to 0 +");
  refuses([](plan::Manifest &m) { role(m, 0).set_flight_bytes(~0ull); },
          "flight space has");
  refuses(
      [](plan::Manifest &m) { role(m, 0).mutable_rings(0)->set_slots(~0u); },
      "lie outside of the flight space");
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_rings(0)->set_slot_bytes(~0ull / 64 * 64);
      },
      "slots of");
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_rings(0)->set_offset(~0ull / 64 * 64);
      },
      "lie outside of the flight space");
  refuses([](plan::Manifest &m) { role(m, 0).mutable_rings(0)->set_offset(8); },
          "multiples of 64");
  refuses([](plan::Manifest &m) { role(m, 0).mutable_rings(1)->set_offset(0); },
          "rings 'stash' and 'activations.out' overlap");
}

TEST(VerifyOrders, BuffersAndMessagesLieInSlots) {
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_programs(0)->mutable_buffers(0)->set_ring(9);
      },
      "has a buffer in ring 9");
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_programs(0)->mutable_buffers(0)->set_offset(240);
      },
      "program 'forward': buffer 0: bytes 240 to 240 + 64 lie outside");
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_messages(0)->set_offset(~0ull);
      },
      "message 1 'h1': bytes");
  refuses(
      [](plan::Manifest &m) { role(m, 0).mutable_messages(0)->set_ring(7); },
      "it is in ring 7");
  refuses(
      [](plan::Manifest &m) {
        plan::Program &apply = *role(m, 0).mutable_programs(2);
        addBuffer(apply, plan::FLIGHT, 0, plan::F32, {1});
      },
      "program 'apply': it runs for no micro-batch");
}

TEST(VerifyOrders, ReceivedMessagesDoNotOverlap) {
  FakePipeline pipeline{3, 4};
  pipeline.skip = true;
  refuses(
      [](plan::Manifest &m) {
        for (plan::Message &message : *role(m, 2).mutable_messages())
          if (!message.gradient() && !message.eval())
            message.set_offset(32);
      },
      "overlap in ring", pipeline);
}

TEST(VerifyOrders, BothEndsOfAMessageAgree) {
  auto other = [](auto change) {
    return [=](plan::Manifest &m) { change(*role(m, 1).mutable_messages(0)); };
  };
  refuses(other([](plan::Message &m) { m.set_id(55); }), "it has 1 ends");
  refuses(other([](plan::Message &m) { m.set_peer(1); }), "its peer is");
  refuses(other([](plan::Message &m) { m.set_line(7); }), "another line");
  refuses(other([](plan::Message &m) { m.set_gradient(true); }),
          "another kind");
  refuses(other([](plan::Message &m) { m.set_sends(true); }), "the same end");
  refuses(other([](plan::Message &m) { m.mutable_type()->set_dims(0, 8); }),
          "float32 [16], but in role 1 float32 [8]");
  refuses(
      [](plan::Manifest &m) {
        for (int i : {0, 1})
          role(m, i).mutable_messages(1)->set_line(
              role(m, i).messages(0).line());
      },
      "with other roles or another kind");
}

TEST(VerifyOrders, WhatIsReadWasReceived) {
  refuses([](plan::Manifest &m) { erase(m, 1, find(m, 1, isReceive)); },
          "role 1, train action 2 (call of 'micro', micro-batch 0): message 1 "
          "'h1', which it reads, was not received");
  refuses([](plan::Manifest &m) { erase(m, 0, find(m, 0, isSend)); },
          "message 1 'h1' of micro-batch 0 is not moved");
}

TEST(VerifyOrders, WhatIsSentWasWritten) {
  refuses(
      [](plan::Manifest &m) {
        int at = find(m, 0, isSend);
        action(m, 0, at).Swap(&action(m, 0, at - 1));
      },
      "what it sends was not written yet");
}

/// Takes the action to another place; those between move up or down.
void shift(plan::Manifest &manifest, int roleIndex, int from, int to) {
  auto &actions = *role(manifest, roleIndex).mutable_train()->mutable_actions();
  const auto begin = actions.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

void addFlightBuffer(plan::Role &role, int program, const std::string &ring) {
  plan::Program &user = *role.mutable_programs(program);
  const uint32_t buffer = addBuffer(user, plan::FLIGHT, 64, plan::F32, {16});
  user.mutable_buffers(int(buffer))->set_ring(ringOf(role, ring));
}

TEST(VerifyOrders, NoOtherCallUsesTheSlotOfAMessageUnderWay) {
  const FakePipeline pipeline{2, 1};
  refuses(
      [](plan::Manifest &m) {
        addFlightBuffer(role(m, 0), 0, "gradients.in");
        shift(m, 0, find(m, 0, isReceive), 0);
      },
      "(call of 'forward', micro-batch 0): message 2 'grad2' was received into "
      "its slot for a later call",
      pipeline);
  refuses(
      [](plan::Manifest &m) {
        addFlightBuffer(role(m, 0), 1, "activations.out");
        shift(m, 0, find(m, 0, isSend), role(m, 0).train().actions_size() - 1);
      },
      "(send of message 1 'h1', micro-batch 0): another call has used the slot",
      pipeline);
}

TEST(VerifyOrders, SlotsBelongToOneMicroBatch) {
  refuses(
      [](plan::Manifest &m) {
        const uint32_t ring = ringOf(m.roles(0), "stash");
        for (plan::Action &a : *role(m, 0).mutable_train()->mutable_actions())
          if (a.has_call() && a.call().micro_batch() == 1)
            a.mutable_call()->set_slots(int(ring), 0);
      },
      "slot 0 of ring 'stash' is in use by micro-batch 0 up to action");
  refuses(
      [](plan::Manifest &m) {
        plan::Action &send = action(m, 0, find(m, 0, isReceive));
        send.mutable_receive()->set_slot(1);
      },
      "but the micro-batch is in slot 1");
}

TEST(VerifyOrders, EveryCallComesOnceAndInOrder) {
  refuses(
      [](plan::Manifest &m) {
        role(m, 0).mutable_train()->mutable_actions()->RemoveLast();
      },
      "role 0, train: calls are missing");
  refuses(
      [](plan::Manifest &m) {
        plan::Order &order = *role(m, 0).mutable_train();
        plan::Action last = order.actions(order.actions_size() - 1);
        *order.add_actions() = last;
      },
      "the step has ended before");
  refuses(
      [](plan::Manifest &m) {
        plan::Order &order = *role(m, 0).mutable_train();
        order.mutable_actions(order.actions_size() - 1)
            ->mutable_call()
            ->set_program(uint32_t(order.actions_size()) % 2);
      },
      "call of");
  refuses(
      [](plan::Manifest &m) {
        int a = find(m, 0, isFeed, 0), b = find(m, 0, isFeed, 1);
        action(m, 0, a).Swap(&action(m, 0, b));
        action(m, 0, a + 1).Swap(&action(m, 0, b + 1));
      },
      "micro-batch 0 comes first", {2, 4}, "gpipe");
}

TEST(VerifyOrders, InputsAreFedForTheNextCall) {
  refuses([](plan::Manifest &m) { erase(m, 0, find(m, 0, isFeed)); },
          "its inputs were not fed");
  refuses(
      [](plan::Manifest &m) {
        action(m, 0, find(m, 0, isFeed)).mutable_feed()->set_micro_batch(1);
      },
      "another program or micro-batch was fed");
  FakePipeline pipeline{2, 3};
  pipeline.feedsStash = true;
  refuses(
      [](plan::Manifest &m) {
        const uint32_t ring = ringOf(m.roles(0), "stash");
        action(m, 0, find(m, 0, isFeed, 1))
            .mutable_feed()
            ->set_slots(int(ring), 0);
      },
      "the micro-batch is in slot 0", pipeline);
}

TEST(VerifyOrders, LinesAreAsManyAsChannels) {
  auto moved = [](uint32_t line) {
    return [line](plan::Manifest &manifest) {
      for (int i : {0, 1})
        for (plan::Message &message : *role(manifest, i).mutable_messages())
          message.set_line(message.line() + line);
    };
  };
  plan::Manifest last = fakePipeline({}, "1f1b");
  uint32_t highest = 0;
  for (const plan::Message &message : last.roles(0).messages())
    highest = std::max(highest, message.line());
  moved(kLineChannels - 1 - highest)(last);
  EXPECT_TRUE(verifyOrders(last).ok()) << verifyOrders(last).message();
  refuses(moved(kLineChannels - highest), "lines count from 0 to 16382");
  refuses(moved(0xffffc000u),
          "lines count from 0 to 16382"); // wraps to a group
}

TEST(VerifyOrders, LinesHaveOneSequence) {
  FakePipeline pipeline{2, 4};
  refuses(
      [](plan::Manifest &m) {
        // Both sends of the last role come after both calls, the later first.
        const uint32_t ring = ringOf(m.roles(1), "gradients.out");
        role(m, 1).mutable_rings(int(ring))->set_slots(4);
        role(m, 1).mutable_rings(int(ring))->set_offset(
            role(m, 1).flight_bytes());
        role(m, 1).set_flight_bytes(role(m, 1).flight_bytes() + 4096);
        std::vector<plan::Action> sends;
        plan::Order order;
        plan::Order &old = *role(m, 1).mutable_train();
        for (plan::Action a : old.actions()) {
          if (a.has_send())
            a.mutable_send()->set_slot(a.send().micro_batch());
          if (a.has_call() && a.call().program() != 3)
            a.mutable_call()->set_slots(int(ring), a.call().micro_batch());
          a.has_send() ? sends.push_back(a) : void(*order.add_actions() = a);
        }
        const plan::Action apply = *order.actions().rbegin();
        order.mutable_actions()->RemoveLast();
        for (size_t i : {1, 0, 2, 3})
          *order.add_actions() = sends[i];
        *order.add_actions() = apply;
        old = order;
      },
      "the other end of line", pipeline);
}

/// All roles meet in apply: a gradient that is sent behind it never comes.
TEST(VerifyOrders, NothingMovesBehindApply) {
  refuses(
      [](plan::Manifest &m) {
        auto &actions = *role(m, 1).mutable_train()->mutable_actions();
        for (int i = actions.size() - 2; i >= 0; --i)
          if (actions[i].has_send()) {
            for (int j = i; j + 1 < actions.size(); ++j)
              actions.SwapElements(j, j + 1);
            break;
          }
      },
      "behind the apply", FakePipeline{2, 4});
}

/// The first role does all its forwards before it takes a gradient, but has
/// room for one activation; the last asks for the next activations only when
/// its gradients are gone.
TEST(VerifyOrders, RolesDoNotWaitInACircle) {
  const FakePipeline pipeline{2, 6};
  const plan::Manifest other = fakePipeline(pipeline, "1f1b");
  refuses([&](plan::Manifest &m) { role(m, 1) = other.roles(1); },
          "the roles wait for each other: ", pipeline, "gpipe");
  refuses([&](plan::Manifest &m) { role(m, 1) = other.roles(1); },
          ", which waits for message ", pipeline, "gpipe");
}

TEST(VerifyOrders, OrdersAreThereForWhatTheArtifactDoes) {
  refuses([](plan::Manifest &m) { m.set_mode("infer"); },
          "it has an order of train");
  refuses([](plan::Manifest &m) { role(m, 1).clear_eval(); },
          "role 1: it has no order of eval");
  refuses([](plan::Manifest &m) { role(m, 1).clear_train(); },
          "role 1: it has no order of train");
  refuses([](plan::Manifest &m) { m.set_freeze_step(2); },
          "no order of late train");
  refuses([](plan::Manifest &m) { m.clear_roles(); }, "there are no roles");
  refuses([](plan::Manifest &m) { m.set_accumulate(1 << 20); },
          "1048576 micro-batches in");
  refuses([](plan::Manifest &m) { m.set_accumulate(-1); }, "-1 micro-batches");
}

TEST(VerifyOrders, EvaluationIsCheckedAsWell) {
  refuses(
      [](plan::Manifest &m) {
        role(m, 1).mutable_eval()->mutable_actions()->DeleteSubrange(0, 1);
      },
      "role 1, eval action 1 (call of 'eval', micro-batch 0): message");
}

} // namespace
} // namespace zc::test
