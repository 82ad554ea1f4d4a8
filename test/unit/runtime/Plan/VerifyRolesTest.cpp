#include "runtime/Plan/Channels.h"
#include "runtime/Plan/Verify.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRoles.h"

#include <functional>
#include <gtest/gtest.h>

namespace zc {
namespace {

using Change = std::function<void(plan::Manifest &)>;

std::string messageAfter(const Change &change) {
  plan::Manifest manifest = test::tinyManifestOfRoles();
  change(manifest);
  return verifyManifest(manifest).message();
}

void expectMessage(const std::string &part, const Change &change) {
  std::string message = messageAfter(change);
  EXPECT_NE(message.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << message;
}

plan::Role &role(plan::Manifest &manifest, int index) {
  return *manifest.mutable_roles(index);
}

TEST(VerifyRoles, AcceptsASoundManifest) {
  EXPECT_EQ(messageAfter([](auto &) {}), "");
}

TEST(VerifyRoles, AsksForARoleForEachPlaceAlongPp) {
  expectMessage("1 roles for 2",
                [](auto &m) { m.mutable_roles()->RemoveLast(); });
  expectMessage("2 roles for 1", [](auto &m) { m.clear_mesh(); });
  plan::Manifest manifest = test::tinyManifest();
  manifest.clear_roles();
  EXPECT_NE(verifyManifest(manifest).message().find("0 roles for 1"),
            std::string::npos);
}

TEST(VerifyRoles, AsksForAServerAndWorkersAlongDpAlone) {
  auto serve = [](plan::Manifest &m, const std::string &axis,
                  const std::string &size) {
    plan::Setting &setting = *m.add_mesh();
    setting.set_name(axis);
    setting.set_value(size);
  };
  expectMessage("a parameter server among 4 ranks, 2 of them along dp",
                [&](auto &m) {
                  m.clear_mesh();
                  serve(m, "dp", "2");
                  serve(m, "tp", "2");
                });
  expectMessage("2 roles for 1", [&](auto &m) {
    m.clear_mesh();
    serve(m, "dp", "1");
  });
}

TEST(VerifyRoles, NamesTheRole) {
  expectMessage("role 1: the manifest is damaged: two states are named 'w'",
                [](auto &m) { role(m, 1).mutable_states(1)->set_name("w"); });
  expectMessage("two 'init'", [](auto &m) {
    role(m, 1).mutable_programs(1)->set_name("init");
  });
  expectMessage("no program 'init'", [](auto &m) {
    role(m, 1).mutable_programs(0)->set_name("begin");
  });
}

TEST(VerifyRoles, ChecksWhatRolesShare) {
  expectMessage("'w' is float32 [3, 1] in one role", [](auto &m) {
    role(m, 1).mutable_states(0)->mutable_type()->set_dims(0, 1);
  });
  expectMessage("of another kind", [](auto &m) {
    role(m, 1).mutable_states(0)->set_kind(plan::STATISTIC);
  });
}

TEST(VerifyRoles, ChecksBuffersInFlight) {
  auto buffer = [](plan::Manifest &m) -> plan::Buffer & {
    return *role(m, 0).mutable_programs(1)->mutable_buffers(1);
  };
  expectMessage("in ring 2 of 2", [&](auto &m) { buffer(m).set_ring(2); });
  expectMessage("outside of the region's 64",
                [&](auto &m) { buffer(m).set_offset(52); });
  EXPECT_EQ(messageAfter([&](auto &m) { buffer(m).set_offset(48); }), "");
}

// The checks of VerifyOrders.h have tests of their own.
TEST(VerifyRoles, ChecksOrders) {
  expectMessage("role 0: it has no order of train",
                [](auto &m) { role(m, 0).clear_train(); });
  expectMessage("it has 1 ends",
                [](auto &m) { role(m, 1).mutable_messages(0)->set_id(7); });
  expectMessage("no order of train", [](auto &m) { // of one role with rings
    m.clear_mesh();
    m.mutable_roles()->RemoveLast();
    role(m, 0).clear_messages();
    role(m, 0).clear_train();
  });
}

/// Adds an all-reduce along pp to a role's apply, of a buffer of that many
/// elements.
void addSum(plan::Manifest &manifest, int index, int64_t elements) {
  plan::Role &holder = role(manifest, index);
  for (plan::Program &program : *holder.mutable_programs())
    if (program.name() == "apply") {
      auto buffer =
          test::addBuffer(program, plan::TRANSIENT, program.transient_bytes(),
                          plan::F32, {elements});
      program.set_transient_bytes(program.transient_bytes() + 64);
      test::addCollective(program, plan::ALL_REDUCE, buffer, buffer, 2)
          ->mutable_collective()
          ->set_axes(0, "pp");
    }
}

TEST(VerifyRoles, CollectivesAmongRolesComeInOneOrder) {
  auto both = [](auto &m, std::vector<int64_t> first,
                 std::vector<int64_t> second) {
    for (int64_t elements : first)
      addSum(m, 0, elements);
    for (int64_t elements : second)
      addSum(m, 1, elements);
  };
  EXPECT_EQ(messageAfter([&](auto &m) { both(m, {1, 2}, {1, 2}); }), "");
  expectMessage("program 'apply': the collectives that roles 0 and 1 both take "
                "part in differ between them, or come in another order",
                [&](auto &m) {
                  both(m, {1, 2}, {2, 1});
                });
  expectMessage("in another order", [&](auto &m) { both(m, {1}, {}); });
}

TEST(VerifyRoles, GroupsOfCollectivesAreAsManyAsChannels) {
  plan::Manifest manifest;
  plan::Program &program = *manifest.add_roles()->add_programs();
  auto add = [&] { // each on a stream of its own
    plan::Instruction &instruction = *program.add_instructions();
    instruction.mutable_collective()->add_axes("dp");
    instruction.set_stream(uint32_t(program.instructions_size()));
  };
  for (uint32_t i = 1; i < kGroupChannels; ++i)
    add();
  EXPECT_TRUE(verifyRoleCollectives(manifest).ok());
  add();
  EXPECT_NE(verifyRoleCollectives(manifest).message().find(
                "among 16384 groups of ranks, more than 16383"),
            std::string::npos);
}

} // namespace
} // namespace zc
