#include "test/unit/runtime/TinyRoles.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

namespace zc::test {

namespace {

constexpr uint64_t kTied = 0, kOwn = 64, kMomentum = 128, kRate = 192;
constexpr uint64_t kStep = 256, kPersistentBytes = 320;

void addStates(plan::Role &role, const std::string &own) {
  role.set_persistent_bytes(kPersistentBytes);
  addState(role, "w", plan::PARAMETER, plan::F32, {3, 1}, kTied)
      ->mutable_source()
      ->set_key("w");
  addState(role, own, plan::PARAMETER, plan::F32, {3, 1}, kOwn);
  plan::State *momentum =
      addState(role, "state." + own + ".momentum_buffer", plan::OPTIMIZER,
               plan::F32, {3, 1}, kMomentum);
  momentum->set_parameter(own);
  momentum->set_slot("momentum_buffer");
  addState(role, "lr", plan::SCALAR, plan::F32, {}, kRate);
  addState(role, "step", plan::SCALAR, plan::I64, {}, kStep);
}

void addInit(plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name("init");
  for (uint64_t place : {kOwn, kMomentum}) {
    auto zeros = addBuffer(program, plan::PERSISTENT, place, plan::F32, {3, 1});
    addKernel(program, "tiny_zero", {zeros}, 0, 3);
  }
  auto step = addBuffer(program, plan::PERSISTENT, kStep, plan::F32, {2});
  addKernel(program, "tiny_zero_pair", {step}, 0, 2);
}

/// Copies y from the one to the other: what is sent is made here, what is
/// received is used.
void addForward(plan::Role &role, bool sends) {
  plan::Ring &ring = *role.add_rings();
  ring.set_name(sends ? "activations.out" : "activations.in");
  ring.set_slot_bytes(64);
  ring.set_slots(2);
  ring.set_memory_class(plan::COMMUNICATION);
  role.set_flight_bytes(128);
  plan::Message &message = *role.add_messages();
  message.set_name("y");
  message.set_peer(sends ? 1 : 0);
  message.set_sends(sends);
  setType(message.mutable_type(), plan::F32, {4, 1});
  plan::Program &program = *role.add_programs();
  program.set_name("forward");
  program.set_transient_bytes(64);
  auto here = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {4, 1});
  auto there = addBuffer(program, plan::FLIGHT, 0, plan::F32, {4, 1});
  plan::CopyCall &copy = *program.add_instructions()->mutable_copy();
  copy.set_source(sends ? here : there);
  copy.set_destination(sends ? there : here);
}

/// Two micro-batches, one after another.
void addOrder(plan::Role &role, bool sends) {
  for (uint32_t k = 0; k < 2; ++k) {
    auto move = [&] {
      plan::Action &action = *role.mutable_train()->add_actions();
      plan::Move &move =
          sends ? *action.mutable_send() : *action.mutable_receive();
      move.set_micro_batch(k);
      move.set_slot(k);
    };
    if (!sends)
      move();
    plan::Call &call = *role.mutable_train()->add_actions()->mutable_call();
    call.set_program(1);
    call.set_micro_batch(k);
    call.add_slots(k);
    if (sends)
      move();
  }
}

} // namespace

plan::Manifest tinyManifestOfRoles() {
  plan::Manifest manifest = tinyManifest();
  manifest.clear_roles();
  manifest.set_accumulate(2);
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name("pp");
  axis->set_value("2");
  for (bool sends : {true, false}) {
    plan::Role &role = *manifest.add_roles();
    addStates(role, sends ? "a" : "b");
    addInit(role);
    addForward(role, sends);
    addOrder(role, sends);
  }
  return manifest;
}

} // namespace zc::test
