#include "test/unit/runtime/TinyRanks.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

namespace zc::test {
namespace {

constexpr int kRanks = 2;
constexpr uint64_t kWeight = 0, kMomentum = 64, kRate = 128, kStep = 192;
constexpr uint64_t kWorkspace = 512, kWorkspaceBytes = 256 * 1024;

/// A vector of 4 elements in two halves; [3, 1] is its first 3 elements.
void setUnit(plan::State &state, const std::string &name,
             const std::string &member) {
  state.set_name(name);
  state.clear_source();
  state.clear_parameter();
  state.clear_type();
  setType(state.mutable_type(), plan::F32, {2});
  state.add_whole_dims(4);
  state.mutable_sharding()->add_dims()->add_axes("dp");
  plan::UnitMember *only = state.add_members();
  only->set_name(member);
  setType(only->mutable_type(), plan::F32, {3, 1});
}

/// The buffers and the first instructions of a program: x, w, pred = x * w.
struct Forward {
  Forward(plan::Program &program, bool sharded) {
    x = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {2, 3});
    pred = addBuffer(program, plan::TRANSIENT, 64, plan::F32, {2, 1});
    uint32_t workspace = addBuffer(program, plan::TRANSIENT, kWorkspace,
                                   plan::U8, {int64_t(kWorkspaceBytes)});
    program.set_transient_bytes(kWorkspace + kWorkspaceBytes);
    addSamples(program, "x", x);
    if (sharded) {
      auto part = addBuffer(program, plan::PERSISTENT, kWeight, plan::F32, {2});
      auto whole = addBuffer(program, plan::TRANSIENT, 256, plan::F32, {4});
      w = addBuffer(program, plan::TRANSIENT, 256, plan::F32, {3, 1});
      addCollective(program, plan::ALL_GATHER, part, whole, kRanks);
    } else {
      w = addBuffer(program, plan::PERSISTENT, kWeight, plan::F32, {3, 1});
    }
    multiply(program, workspace);
  }

  /// An input of which each rank has half of the samples.
  static void addSamples(plan::Program &program, const std::string &name,
                         uint32_t buffer) {
    addInput(program, name, buffer, name == "labels");
    program.mutable_inputs(program.inputs_size() - 1)->add_batch_axes("dp");
  }

  void multiply(plan::Program &program, uint32_t workspace) {
    scratch = workspace;
    addMatmul(program, x, w, pred, workspace);
  }

  uint32_t x, w, pred, scratch;
};

void addUpdate(plan::Program &program, bool sharded, uint32_t gradient,
               uint32_t wholeGradient) {
  auto rate = addBuffer(program, plan::PERSISTENT, kRate, plan::F32, {});
  const std::vector<int64_t> dims =
      sharded ? std::vector<int64_t>{2} : std::vector<int64_t>{3, 1};
  auto w = addBuffer(program, plan::PERSISTENT, kWeight, plan::F32, dims);
  auto momentum =
      addBuffer(program, plan::PERSISTENT, kMomentum, plan::F32, dims);
  if (sharded) {
    auto part = addBuffer(program, plan::TRANSIENT, 320, plan::F32, {2});
    addCollective(program, plan::REDUCE_SCATTER, wholeGradient, part, kRanks);
    addKernel(program, "tiny_sgd_half", {part, rate, w, momentum}, 2, 2);
  } else {
    addCollective(program, plan::ALL_REDUCE, gradient, gradient, kRanks);
    addKernel(program, "tiny_sgd", {gradient, rate, w, momentum}, 2, 3);
  }
}

void addStep(plan::Program &program, bool sharded) {
  program.set_name("step");
  Forward f(program, sharded);
  auto labels = addBuffer(program, plan::TRANSIENT, 80, plan::F32, {2, 1});
  auto dpred = addBuffer(program, plan::TRANSIENT, 96, plan::F32, {2, 1});
  auto loss = addBuffer(program, plan::TRANSIENT, 112, plan::F32, {});
  auto dw = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {3, 1});
  auto wholeDw = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {4});
  auto ids = addBuffer(program, plan::TRANSIENT, 192, plan::I64, {2});
  auto step = addBuffer(program, plan::PERSISTENT, kStep, plan::I64, {});
  Forward::addSamples(program, "labels", labels);
  Forward::addSamples(program, "ids", ids);
  program.mutable_inputs(2)->mutable_range()->set_max(10);
  addKernel(program, "tiny_loss_half", {f.pred, labels, dpred, loss}, 2, 1);
  addCollective(program, plan::ALL_REDUCE, loss, loss, kRanks);
  addKernel(program, "tiny_zero_all", {wholeDw}, 0, 4);
  addMatmul(program, f.x, dpred, dw, f.scratch, {"transpose_lhs"});
  addUpdate(program, sharded, dw, wholeDw);
  addKernel(program, "tiny_count", {step}, 0, 1);
  addMetric(program, "loss", loss);
}

void addEval(plan::Program &program, bool sharded) {
  program.set_name("eval");
  Forward f(program, sharded);
  auto labels = addBuffer(program, plan::TRANSIENT, 80, plan::F32, {2, 1});
  auto weights = addBuffer(program, plan::TRANSIENT, 96, plan::F32, {2});
  auto lossSum = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {});
  auto weightSum = addBuffer(program, plan::TRANSIENT, 132, plan::F32, {});
  auto sums = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {2});
  Forward::addSamples(program, "labels", labels);
  Forward::addSamples(program, "sample_weight", weights);
  program.mutable_inputs(2)->set_is_sample_weight(true);
  plan::Output *output = program.add_outputs();
  output->set_name("pred/out");
  output->set_buffer(f.pred);
  output->add_batch_axes("dp");
  addKernel(program, "tiny_eval_half",
            {f.pred, labels, weights, lossSum, weightSum}, 3, 1);
  addCollective(program, plan::ALL_REDUCE, sums, sums, kRanks);
  addMetric(program, "loss_sum", lossSum);
  addMetric(program, "weight_sum", weightSum);
}

} // namespace

plan::Manifest tinyManifestOfTwo(bool sharded) {
  plan::Manifest manifest = tinyManifest();
  plan::Role &role = *manifest.mutable_roles(0);
  plan::Setting *axis = manifest.add_mesh();
  axis->set_name("dp");
  axis->set_value("2");
  if (sharded) {
    setUnit(*role.mutable_states(0), "unit.w", "w");
    role.mutable_states(0)->mutable_members(0)->mutable_source()->set_key("w");
    setUnit(*role.mutable_states(1), "unit.w.momentum_buffer",
            "state.w.momentum_buffer");
    role.mutable_states(1)->mutable_members(0)->set_parameter("w");
  }
  plan::Program init = role.programs(0);
  if (sharded) { // its kernels are for the whole momentum
    init.mutable_instructions()->DeleteSubrange(0, 1);
    init.mutable_buffers(0)->mutable_type()->mutable_dims()->Clear();
  }
  role.clear_programs();
  *role.add_programs() = init;
  addStep(*role.add_programs(), sharded);
  addEval(*role.add_programs(), sharded);
  return manifest;
}

void moveCollectivesToSecondStream(plan::Manifest &manifest) {
  for (plan::Program &program : *manifest.mutable_roles(0)->mutable_programs())
    for (int i = 0; i < program.instructions_size(); ++i) {
      plan::Instruction &instruction = *program.mutable_instructions(i);
      const bool second = instruction.has_collective();
      instruction.set_stream(second ? 1 : 0);
      if (i > 0 && program.instructions(i - 1).has_collective() != second)
        instruction.add_waits(uint32_t(i - 1));
    }
}

} // namespace zc::test
