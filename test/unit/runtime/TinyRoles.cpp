#include "test/unit/runtime/TinyRoles.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <gtest/gtest.h>

namespace zc::test {

namespace {

constexpr uint64_t kAligned = 64;

/// Where a state of that index lies.
uint64_t placeOf(int index) { return uint64_t(index) * kAligned; }

plan::State *addVector(plan::Role &role, const std::string &name,
                       plan::StateKind kind) {
  return addState(role, name, kind, plan::F32, {3, 1},
                  placeOf(role.states_size()));
}

/// "w", and a parameter with its momentum for each name.
void addStates(plan::Role &role, const std::vector<std::string> &names) {
  addVector(role, "w", plan::PARAMETER)->mutable_source()->set_key("w");
  for (const std::string &name : names) {
    addVector(role, name, plan::PARAMETER);
    plan::State *momentum =
        addVector(role, "state." + name + ".momentum_buffer", plan::OPTIMIZER);
    momentum->set_parameter(name);
    momentum->set_slot("momentum_buffer");
  }
  addState(role, "lr", plan::SCALAR, plan::F32, {},
           placeOf(role.states_size()));
  addState(role, "step", plan::SCALAR, plan::I64, {},
           placeOf(role.states_size()));
  role.set_persistent_bytes(placeOf(role.states_size()));
}

/// Zeros for all that is not from a file.
void addInit(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("init");
  for (int i = 1; i < role.states_size(); ++i) {
    const plan::State &state = role.states(i);
    const bool isScalar = state.kind() == plan::SCALAR;
    auto zeros =
        addBuffer(program, plan::PERSISTENT, state.offset(), plan::F32,
                  isScalar ? std::vector<int64_t>{2} : std::vector<int64_t>{3});
    addKernel(program, isScalar ? "tiny_zero_pair" : "tiny_zero", {zeros}, 0,
              isScalar ? 2 : 3);
  }
}

/// Each rank has two of the three rows, padded.
void divideTied(plan::State &state) {
  state.mutable_type()->set_dims(0, 2);
  state.add_whole_dims(3);
  state.add_whole_dims(1);
  state.mutable_sharding()->add_dims()->add_axes("dp");
}

void addAxis(plan::Manifest &manifest, const char *name, int size) {
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name(name);
  axis->set_value(std::to_string(size));
}

/// A ring for one message, and the end of it that the role has.
void addMessage(plan::Role &role, bool gradient, bool sends, uint32_t peer) {
  plan::Ring &ring = *role.add_rings();
  ring.set_name(gradient ? "gradients" : "activations");
  ring.set_slot_bytes(64);
  ring.set_memory_class(plan::COMMUNICATION);
  plan::Message &message = *role.add_messages();
  message.set_id(gradient);
  message.set_line(gradient);
  message.set_name("y");
  message.set_gradient(gradient);
  message.set_peer(peer);
  message.set_sends(sends);
  message.set_ring(gradient);
  setType(message.mutable_type(), plan::F32, {4, 1});
}

/// Copies what is sent into its ring, or what was received out of it.
void addPass(plan::Role &role, const char *name, uint32_t ring, bool sends) {
  plan::Program &program = *role.add_programs();
  program.set_name(name);
  program.set_transient_bytes(64);
  auto here = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {4, 1});
  auto there = addBuffer(program, plan::FLIGHT, 0, plan::F32, {4, 1});
  program.mutable_buffers(int(there))->set_ring(ring);
  plan::CopyCall &copy = *program.add_instructions()->mutable_copy();
  copy.set_source(sends ? here : there);
  copy.set_destination(sends ? there : here);
}

void addPasses(plan::Role &role, bool isFirst) {
  addMessage(role, /*gradient=*/false, isFirst, isFirst ? 1 : 0);
  addMessage(role, /*gradient=*/true, !isFirst, isFirst ? 1 : 0);
  addPass(role, "forward", 0, isFirst);
  addPass(role, "backward", 1, !isFirst);
  role.add_programs()->set_name("apply");
}

} // namespace

plan::Manifest tinyManifestOfRoles(int dp) {
  plan::Manifest manifest = tinyManifest();
  manifest.clear_roles();
  manifest.set_accumulate(2);
  addAxis(manifest, "pp", 2);
  if (dp > 1)
    addAxis(manifest, "dp", dp);
  for (bool isFirst : {true, false}) {
    plan::Role &role = *manifest.add_roles();
    addStates(role, {isFirst ? "a" : "b"});
    addInit(role);
    addPasses(role, isFirst);
  }
  if (dp > 1)
    divideTied(*manifest.mutable_roles(0)->mutable_states(0));
  Status built = buildOrders(manifest, {"1f1b", 2});
  EXPECT_TRUE(built.ok()) << built.message();
  return manifest;
}

plan::Manifest tinyManifestOfOneRole() {
  plan::Manifest manifest = tinyManifest();
  manifest.clear_roles();
  plan::Role &role = *manifest.add_roles();
  addStates(role, {"a", "b"});
  addInit(role);
  role.add_programs()->set_name("step");
  Status built = buildOrders(manifest, {});
  EXPECT_TRUE(built.ok()) << built.message();
  return manifest;
}

} // namespace zc::test
