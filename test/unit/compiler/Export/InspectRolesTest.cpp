//===- InspectRolesTest.cpp -----------------------------------------------===//
#include "compiler/Export/Inspect.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

namespace zc {
namespace {

constexpr uint32_t kMicroBatches = 4;

void setFloats(plan::TensorType &type, int64_t count) {
  type.set_dtype(plan::F32);
  type.add_dims(count);
}

void addProgram(plan::Role &role, const std::string &name, double flops,
                uint64_t transient) {
  plan::Program &program = *role.add_programs();
  program.set_name(name);
  program.set_transient_bytes(transient);
  program.add_instructions()->set_flops(flops);
}

void addRing(plan::Role &role, const std::string &name, uint64_t slotBytes,
             uint32_t slots) {
  plan::Ring &ring = *role.add_rings();
  ring.set_name(name);
  ring.set_offset(role.flight_bytes());
  ring.set_slot_bytes(slotBytes);
  ring.set_slots(slots);
  role.set_flight_bytes(role.flight_bytes() + slotBytes * slots);
}

/// An end of a message of 16 floats, in the second ring.
void addMessage(plan::Role &role, uint32_t id, bool sends) {
  plan::Message &message = *role.add_messages();
  message.set_id(id);
  message.set_name("h");
  message.set_gradient(id == 1);
  message.set_line(id);
  message.set_sends(sends);
  message.set_ring(1);
  setFloats(*message.mutable_type(), 16);
}

/// All forwards, then all backwards; each is a call and a message.
void addOrder(plan::Role &role, bool isFirst) {
  for (uint32_t program : {0, 1})
    for (uint32_t k = 0; k < kMicroBatches; ++k) {
      plan::Call call;
      call.set_program(program);
      call.set_micro_batch(k);
      plan::Move move;
      move.set_message(program);
      move.set_micro_batch(k);
      const bool sends = (program == 0) == isFirst;
      if (!sends)
        *role.mutable_train()->add_actions()->mutable_receive() = move;
      *role.mutable_train()->add_actions()->mutable_call() = call;
      if (sends)
        *role.mutable_train()->add_actions()->mutable_send() = move;
    }
  role.mutable_train()->add_actions()->mutable_call()->set_program(2);
}

/// Two roles, of which the second one computes three times as much and the
/// first one keeps more; both hold "w".
plan::Manifest makeManifest() {
  plan::Manifest manifest;
  manifest.set_mode("train");
  manifest.set_accumulate(kMicroBatches);
  manifest.mutable_target()->set_device("cpu");
  plan::Setting &schedule = *manifest.add_settings();
  schedule.set_name("schedule");
  schedule.set_value("gpipe");
  for (const char *axis : {"pp", "dp"}) {
    plan::Setting &setting = *manifest.add_mesh();
    setting.set_name(axis);
    setting.set_value("2");
  }
  for (uint32_t i : {0, 1}) {
    plan::Role &role = *manifest.add_roles();
    role.set_persistent_bytes(512);
    plan::State &state = *role.add_states();
    state.set_name("w");
    state.set_kind(plan::PARAMETER);
    setFloats(*state.mutable_type(), 100);
    addProgram(role, "forward", i == 0 ? 1e6 : 3e6, 64);
    addProgram(role, "backward", i == 0 ? 2e6 : 6e6, 128);
    addProgram(role, "apply", 0, 32);
    addRing(role, "stash", 128, i == 0 ? 4 : 1);
    addRing(role, "messages", 64, 2);
    role.mutable_programs(0)->add_buffers()->set_space(plan::FLIGHT); // stash
    for (uint32_t id : {0, 1}) {
      addMessage(role, id, (id == 0) == (i == 0));
      role.mutable_messages()->rbegin()->set_peer(1 - i);
    }
    addOrder(role, i == 0);
  }
  return manifest;
}

TEST(InspectRolesTest, MemoryIsOfTheLargest) {
  const plan::Manifest manifest = makeManifest();
  MemoryReport report = measureMemory(manifest);
  EXPECT_EQ(report.role, 0);
  EXPECT_EQ(report.flightBytes, 640u);
  EXPECT_EQ(report.peak, 512u + 640 + 128);
  EXPECT_EQ(report.classes[plan::ACTIVATIONS], 512u);
  EXPECT_EQ(report.classes[plan::COMMUNICATION], 128u);
  EXPECT_EQ(report.unusedAtPeak, report.peak - 400 - 640);
  EXPECT_EQ(measureMemory(manifest, 1).peak, 512u + 256 + 128);
  EXPECT_EQ(measureMemory(manifest, 1).classes[plan::ACTIVATIONS], 128u);
}

TEST(InspectRolesTest, MemoryAsJson) {
  InspectOptions options;
  options.json = options.memory = true;
  auto memory =
      nlohmann::json::parse(inspect(makeManifest(), options))["memory"];
  EXPECT_EQ(memory["peak"], 1280);
  EXPECT_EQ(memory["role"], 0);
  ASSERT_EQ(memory["roles"].size(), 2u);
  EXPECT_EQ(memory["roles"][0]["peak"], 1280);
  EXPECT_EQ(memory["roles"][1]["peak"], 896);
  EXPECT_EQ(memory["roles"][1]["flight"], 256);
  EXPECT_EQ(memory["roles"][1]["programs"]["forward"]["peak"], 832);
}

TEST(InspectRolesTest, MessagesAreTraffic) {
  InspectOptions options;
  options.json = options.comm = true;
  auto comm = nlohmann::json::parse(inspect(makeManifest(), options))["comm"];
  EXPECT_EQ(comm["sent_bytes"], 64 * 4);
  EXPECT_EQ(comm["per_rank"], (std::vector<int>{256, 256, 256, 256}));
  EXPECT_EQ(comm["by_kind"]["activations"]["bytes"], 256);
  EXPECT_EQ(comm["by_kind"]["activations"]["count"], 4);
  EXPECT_EQ(comm["by_axis"]["pp"]["bytes"], 256);
  EXPECT_EQ(comm["parameter_bytes"], 400); // of what both roles hold, once
  ASSERT_EQ(comm["messages"].size(), 2u);
  EXPECT_EQ(comm["messages"][0]["from"], 0);
  EXPECT_EQ(comm["messages"][0]["to"], 1);
  EXPECT_EQ(comm["messages"][0]["name"], "h");
  EXPECT_EQ(comm["messages"][0]["bytes"], 64);
  EXPECT_EQ(comm["messages"][0]["count"], 4);
  EXPECT_EQ(comm["messages"][1]["from"], 1);
  EXPECT_EQ(comm["messages"][1]["kind"], "gradient");
  EXPECT_EQ(comm["roles"].size(), 2u);
}

// Roles 0 and 2 of 3 add up a tied parameter's gradient: half of it each way.
TEST(InspectRolesTest, SumsOfTiedParametersAreAmongTheirHolders) {
  plan::Manifest manifest;
  plan::Setting &pp = *manifest.add_mesh();
  pp.set_name("pp");
  pp.set_value("3");
  for (uint32_t i : {0, 1, 2}) {
    plan::Role &role = *manifest.add_roles();
    addProgram(role, "apply", 0, 0);
    if (i == 1)
      continue;
    plan::Program &apply = *role.mutable_programs(0);
    setFloats(*apply.add_buffers()->mutable_type(), 12);
    plan::CollectiveCall &call =
        *apply.mutable_instructions(0)->mutable_collective();
    call.set_kind(plan::ALL_REDUCE);
    call.set_algorithm(plan::RING);
    call.set_traffic(plan::TRAFFIC_GRADIENTS);
    call.add_axes("pp");
    call.add_holders(0);
    call.add_holders(2);
    call.set_sent_bytes(48);
    call.set_steps(2);
  }
  const CommReport report = measureComm(manifest);
  EXPECT_EQ(report.perRank, (std::vector<uint64_t>{48, 0, 48}));
  EXPECT_EQ(report.sentBytes, 48u);
  EXPECT_EQ(report.byKind.at("gradients").bytes, 48u);
}

TEST(InspectRolesTest, CountsRunsWithAndWithoutAnOrder) {
  plan::Manifest manifest = makeManifest();
  EXPECT_EQ(countRuns(manifest, 1, false).programs,
            (std::vector<uint64_t>{4, 4, 1}));
  EXPECT_EQ(countRuns(manifest, 1, false).messages,
            (std::vector<uint64_t>{0, 4}));
  manifest.mutable_roles(1)->clear_train();
  EXPECT_EQ(countRuns(manifest, 1, false).programs,
            (std::vector<uint64_t>{4, 4, 1}));
}

// The first role waits for the second one's three units: 4 backwards of 6 and
// forwards of 3 behind one of 1, and a backward of 2 at the end.
TEST(InspectRolesTest, SchedulesByCosts) {
  std::optional<PipelineReport> report = measurePipeline(makeManifest());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->order, "gpipe");
  EXPECT_EQ(report->inFlight, (std::vector<uint32_t>{4, 4}));
  EXPECT_DOUBLE_EQ(report->imbalance, 1.5);
  EXPECT_DOUBLE_EQ(report->equalBubbleOfTotal, 1.0 / 5);
  EXPECT_DOUBLE_EQ(report->equalBubbleOfIdeal, 1.0 / 4);
  EXPECT_DOUBLE_EQ(report->bubbleOfTotal, 1 - 24.0 / 39);
  EXPECT_DOUBLE_EQ(report->bubbleOfIdeal, 39.0 / 24 - 1);
  ASSERT_EQ(report->timeline.size(), 2u);
  EXPECT_EQ(report->timeline[0].substr(0, 12), "F0.F1.F2.F3.");
  EXPECT_EQ(report->timeline[1].substr(0, 21), "   F0.......F1.......");
}

TEST(InspectRolesTest, ScheduleAsJsonAndText) {
  InspectOptions options;
  options.schedule = true;
  std::string text = inspect(makeManifest(), options);
  EXPECT_NE(text.find("order of a step: gpipe"), std::string::npos) << text;
  EXPECT_NE(text.find("schedule of role1.backward"), std::string::npos) << text;
  EXPECT_NE(text.find("in flight by role: 4 4"), std::string::npos) << text;
  options.json = true;
  auto json = nlohmann::json::parse(inspect(makeManifest(), options));
  const auto &schedule = json["schedule"];
  EXPECT_EQ(schedule["order"], "gpipe");
  EXPECT_EQ(schedule["in_flight"], (std::vector<int>{4, 4}));
  EXPECT_EQ(schedule["stages"].size(), 2u);
  EXPECT_EQ(schedule["stages"][1]["flops"], 36e6);
  EXPECT_EQ(schedule["imbalance"], 1.5);
  EXPECT_TRUE(schedule["role0.forward"].is_array());
}

TEST(InspectRolesTest, EveryRoleHasASection) {
  InspectOptions options;
  options.memory = options.comm = true;
  std::string text = inspect(makeManifest(), options);
  for (const char *part :
       {"of the largest role, 0", "memory per rank of role 0",
        "memory per rank of role 1", "640 B of micro-batches in flight",
        "role 1 to 0:", "gradient of h"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  std::string page = inspectAsHtml(makeManifest());
  EXPECT_NE(page.find("Memory of role 1"), std::string::npos);
  EXPECT_NE(page.find("Program backward of role 0"), std::string::npos);
}

} // namespace
} // namespace zc
