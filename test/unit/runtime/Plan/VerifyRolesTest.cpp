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

TEST(VerifyRoles, ChecksRings) {
  auto ring = [](plan::Manifest &m) -> plan::Ring & {
    return *role(m, 0).mutable_rings(0);
  };
  expectMessage("0 slots", [&](auto &m) { ring(m).set_slots(0); });
  expectMessage("not aligned", [&](auto &m) { ring(m).set_slot_bytes(60); });
  expectMessage("not aligned", [&](auto &m) { ring(m).set_offset(4); });
  expectMessage("outside of the region's 128",
                [&](auto &m) { ring(m).set_slots(3); });
  expectMessage("outside of the region's 128",
                [&](auto &m) { ring(m).set_slot_bytes(uint64_t(1) << 63); });
  expectMessage("outside of the region's 128",
                [&](auto &m) { ring(m).set_offset(~uint64_t(63)); });
  expectMessage("overlap", [&](auto &m) { *role(m, 0).add_rings() = ring(m); });
  expectMessage("flight region has",
                [](auto &m) { role(m, 0).set_flight_bytes(UINT64_MAX); });
}

TEST(VerifyRoles, ChecksBuffersInFlight) {
  auto buffer = [](plan::Manifest &m) -> plan::Buffer & {
    return *role(m, 0).mutable_programs(1)->mutable_buffers(1);
  };
  expectMessage("in ring 1 of 1", [&](auto &m) { buffer(m).set_ring(1); });
  expectMessage("outside of the region's 64",
                [&](auto &m) { buffer(m).set_offset(52); });
  EXPECT_EQ(messageAfter([&](auto &m) { buffer(m).set_offset(48); }), "");
}

TEST(VerifyRoles, ChecksMessages) {
  auto end = [](plan::Manifest &m, int of) -> plan::Message & {
    return *role(m, of).mutable_messages(0);
  };
  expectMessage("role 2 of 2", [&](auto &m) { end(m, 0).set_peer(2); });
  expectMessage("role 0 of 2", [&](auto &m) { end(m, 0).set_peer(0); });
  expectMessage("ring 7 of 1", [&](auto &m) { end(m, 0).set_ring(7); });
  expectMessage("outside of the slot's 64",
                [&](auto &m) { end(m, 1).set_offset(52); });
  expectMessage("not aligned", [&](auto &m) { end(m, 1).set_offset(2); });
  expectMessage("impossible shape", [&](auto &m) {
    end(m, 1).mutable_type()->set_dims(0, int64_t(-1));
  });
  expectMessage("one end", [&](auto &m) { role(m, 1).clear_messages(); });
  expectMessage("one end", [&](auto &m) { end(m, 1).set_id(4); });
  expectMessage("two ends of it send",
                [&](auto &m) { end(m, 1).set_sends(true); });
  expectMessage("line, kind or type", [&](auto &m) { end(m, 1).set_line(3); });
  expectMessage("line, kind or type",
                [&](auto &m) { end(m, 1).set_gradient(true); });
  expectMessage("line, kind or type", [&](auto &m) {
    end(m, 1).mutable_type()->set_dtype(plan::I32);
  });
}

/// The first role's message, and one of the same line that goes back.
TEST(VerifyRoles, KeepsLinesApart) {
  expectMessage("its line 0 is of other roles", [](auto &m) {
    for (int i : {0, 1}) {
      plan::Message message = role(m, i).messages(0);
      message.set_id(1);
      message.set_sends(!message.sends());
      *role(m, i).add_messages() = message;
    }
  });
}

} // namespace
} // namespace zc
