#include "runtime/Plan/Verify.h"
#include "test/unit/runtime/TinyRanks.h"

#include <functional>
#include <gtest/gtest.h>

namespace zc {
namespace {

using Change = std::function<void(plan::Manifest &)>;

void expectMessage(const std::string &part, const Change &change) {
  plan::Manifest manifest = test::tinyManifestOfTwo(/*sharded=*/true);
  change(manifest);
  std::string message = verifyManifest(manifest).message();
  EXPECT_NE(message.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << message;
}

plan::State &unit(plan::Manifest &manifest) {
  return *manifest.mutable_roles(0)->mutable_states(0);
}
plan::Program &step(plan::Manifest &manifest) {
  return *manifest.mutable_roles(0)->mutable_programs(1);
}

/// The first collective of a kind in the step.
plan::CollectiveCall &collective(plan::Manifest &manifest,
                                 plan::CollectiveKind kind) {
  for (plan::Instruction &each : *step(manifest).mutable_instructions())
    if (each.has_collective() && each.collective().kind() == kind)
      return *each.mutable_collective();
  std::abort();
}

TEST(VerifyRanks, AcceptsSoundManifests) {
  for (bool sharded : {false, true})
    EXPECT_EQ(verifyManifest(test::tinyManifestOfTwo(sharded)).message(), "");
}

TEST(VerifyRanks, ChecksTheMesh) {
  expectMessage("is there twice", [](auto &m) { *m.add_mesh() = m.mesh(0); });
  expectMessage("size '0'", [](auto &m) { m.mutable_mesh(0)->set_value("0"); });
  expectMessage("size '9999999'", [](auto &m) {
    for (const char *name : {"ep", "tp"}) {
      m.add_mesh()->set_name(name);
      m.mutable_mesh(m.mesh_size() - 1)->set_value("9999999");
    }
  });
}

TEST(VerifyRanks, ChecksParts) {
  expectMessage("no axis of the mesh", [](auto &m) {
    unit(m).mutable_sharding()->mutable_dims(0)->set_axes(0, "tp");
  });
  expectMessage("along 'dp' twice", [](auto &m) {
    unit(m).mutable_sharding()->mutable_dims(0)->add_axes("dp");
  });
  expectMessage("not its share", [](auto &m) { unit(m).set_whole_dims(0, 5); });
  expectMessage("not its share", [](auto &m) { unit(m).clear_whole_dims(); });
  expectMessage("sharding has 2 dims",
                [](auto &m) { unit(m).mutable_sharding()->add_dims(); });
}

TEST(VerifyRanks, ChecksBlocks) {
  auto setBlocks = [](plan::State &state, std::vector<int64_t> sizes) {
    for (int64_t size : sizes)
      state.mutable_sharding()->mutable_dims(0)->add_blocks(size);
  };
  auto setState = [&](plan::Manifest &m, std::vector<int64_t> sizes) {
    unit(m).clear_members();
    setBlocks(unit(m), sizes);
  };
  expectMessage("a block of 3 for 2 parts", [&](auto &m) {
    setState(m, {3, 1});
  });
  expectMessage("a block of 6", [&](auto &m) { setState(m, {6}); });
  expectMessage("a block of -2", [&](auto &m) { setState(m, {-2, 6}); });
  expectMessage("a block of 0", [&](auto &m) { setState(m, {4, 0}); });
  expectMessage("leave 2 of its 4", [&](auto &m) { setState(m, {2}); });
  expectMessage("members have blocks", [&](auto &m) {
    setBlocks(unit(m), {2, 2});
  });
}

TEST(VerifyRanks, ChecksMembers) {
  auto member = [](plan::Manifest &m) -> plan::UnitMember & {
    return *unit(m).mutable_members(0);
  };
  expectMessage("overlap another member or the end",
                [&](auto &m) { member(m).set_offset(2); });
  expectMessage("overlap another member or the end",
                [&](auto &m) { member(m).set_offset(~uint64_t(0)); });
  expectMessage("overlap another member", [&](auto &m) {
    *unit(m).add_members() = member(m);
    unit(m).mutable_members(1)->set_name("v");
  });
  expectMessage("two states are named 'w'", [&](auto &m) {
    *unit(m).add_members() = member(m);
    unit(m).mutable_members(1)->set_offset(3);
    unit(m).mutable_members(1)->mutable_type()->set_dims(0, 1);
  });
  expectMessage("along 'dp' twice", [&](auto &m) {
    member(m).mutable_sharding()->add_dims()->add_axes("dp");
  });
  expectMessage("in float32", [&](auto &m) {
    member(m).mutable_type()->set_dtype(plan::F64);
  });
  expectMessage("a unit is a vector",
                [&](auto &m) { unit(m).mutable_source()->set_key("w"); });
  expectMessage("no program 'init'", [&](auto &m) {
    m.mutable_roles(0)->mutable_programs(0)->set_name("x");
    member(m).clear_source();
  });
}

TEST(VerifyRanks, ChecksInputsAndCoordinates) {
  expectMessage("'tp', which is no axis", [](auto &m) {
    step(m).mutable_inputs(0)->set_batch_axes(0, "tp");
  });
  expectMessage("divide their samples differently",
                [](auto &m) { step(m).mutable_inputs(1)->clear_batch_axes(); });
  expectMessage("cannot feed that", [](auto &m) {
    plan::Input *input = step(m).mutable_inputs(0);
    for (auto &each : *step(m).mutable_inputs())
      each.clear_batch_axes();
    input->mutable_sharding()->add_dims()->add_axes("dp");
  });
  expectMessage("which is not one of", [](auto &m) {
    plan::Input *input = step(m).mutable_inputs(0);
    for (auto &each : *step(m).mutable_inputs())
      each.clear_batch_axes();
    input->mutable_sharding()->add_dims();
    input->mutable_sharding()->add_dims()->add_axes("dp");
  });
  expectMessage("not one int64 along an axis", [](auto &m) {
    m.mutable_roles(0)->mutable_states(3)->set_name("coordinate.tp");
  });
}

TEST(VerifyRanks, ChecksCollectives) {
  expectMessage("along no axis",
                [](auto &m) { collective(m, plan::ALL_GATHER).clear_axes(); });
  expectMessage("'tp' is no axis", [](auto &m) {
    collective(m, plan::ALL_GATHER).set_axes(0, "tp");
  });
  expectMessage("does not exist", [](auto &m) {
    collective(m, plan::ALL_GATHER).set_source(999);
  });
  expectMessage("among 2 ranks", [](auto &m) {
    collective(m, plan::ALL_GATHER).set_kind(plan::ALL_REDUCE);
  });
  expectMessage("no known kind", [](auto &m) {
    collective(m, plan::ALL_GATHER)
        .set_algorithm(plan::CollectiveAlgorithm(99));
  });
  expectMessage("it claims", [](auto &m) {
    collective(m, plan::ALL_GATHER).set_sent_bytes(1);
  });
  expectMessage("its root is rank 2 of 2",
                [](auto &m) { collective(m, plan::ALL_GATHER).set_root(2); });
  expectMessage("overlap", [](auto &m) {
    plan::CollectiveCall &call = collective(m, plan::REDUCE_SCATTER);
    step(m).mutable_buffers(int(call.destination()))->set_offset(136);
  });
  expectMessage("its workspace has 3 bytes, not 4", [](auto &m) {
    plan::CollectiveCall &call = collective(m, plan::ALL_REDUCE);
    plan::Buffer *buffer = step(m).add_buffers();
    buffer->set_space(plan::TRANSIENT);
    buffer->mutable_type()->set_dtype(plan::U8);
    buffer->mutable_type()->add_dims(3);
    buffer->set_offset(400);
    call.set_workspace(step(m).buffers_size() - 1);
    call.set_has_workspace(true);
  });
}

TEST(VerifyRanks, ChecksStreamsAndWaits) {
  auto at = [](plan::Manifest &m, int i) -> plan::Instruction & {
    return *step(m).mutable_instructions(i);
  };
  expectMessage("on stream 2", [&](auto &m) { at(m, 0).set_stream(2); });
  expectMessage("on stream 1", [&](auto &m) { at(m, 1).set_stream(1); });
  expectMessage("waits for instruction 0",
                [&](auto &m) { at(m, 1).add_waits(0); });
  expectMessage("waits for instruction 5",
                [&](auto &m) { at(m, 1).add_waits(5); });
  plan::Manifest sound = test::tinyManifestOfTwo(/*sharded=*/true);
  at(sound, 0).set_stream(1);
  at(sound, 1).add_waits(0);
  EXPECT_EQ(verifyManifest(sound).message(), "");
}

} // namespace
} // namespace zc
