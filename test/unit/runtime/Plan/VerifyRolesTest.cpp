#include "runtime/Plan/Verify.h"
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

// What VerifyOrders.h checks is tested there.
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

} // namespace
} // namespace zc
