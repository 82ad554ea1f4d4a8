#include "runtime/Plan/Verify.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <functional>
#include <gtest/gtest.h>

namespace zc {
namespace {

using Change = std::function<void(plan::Manifest &)>;

/// The message for a manifest with one thing changed.
std::string messageAfter(const Change &change) {
  plan::Manifest manifest = test::tinyManifest();
  change(manifest);
  return verifyManifest(manifest).message();
}

plan::Program &step(plan::Manifest &manifest) {
  return *manifest.mutable_roles(0)->mutable_programs(1);
}

void expectMessage(const std::string &part, const Change &change) {
  std::string message = messageAfter(change);
  EXPECT_NE(message.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << message;
}

TEST(Verify, AcceptsASoundManifest) {
  EXPECT_EQ(messageAfter([](plan::Manifest &) {}), "");
}

TEST(Verify, ChecksTheHead) {
  expectMessage("format version 7", [](auto &m) { m.set_format_version(7); });
  expectMessage("format version 2; this program reads version 3; compile the "
                "model again",
                [](auto &m) { m.set_format_version(2); });
  expectMessage("its mode", [](auto &m) { m.set_mode("dream"); });
  expectMessage("0 threads",
                [](auto &m) { m.mutable_target()->set_threads(0); });
  expectMessage("the program does not belong there",
                [](auto &m) { step(m).set_name("stop"); });
  expectMessage("it comes before the micro-batches' end",
                [](auto &m) { m.set_accumulate(2); });
  expectMessage("-1 micro-batches", [](auto &m) { m.set_accumulate(-1); });
  expectMessage("no order of train",
                [](auto &m) { m.mutable_roles(0)->clear_train(); });
  expectMessage("no order of late train",
                [](auto &m) { m.set_freeze_step(1); });
  expectMessage("no order of eval",
                [](auto &m) { m.mutable_roles(0)->clear_eval(); });
  expectMessage("no order of eval", [](auto &m) { // and no program of it
    m.set_mode("infer");
    m.mutable_roles(0)->clear_train();
    m.mutable_roles(0)->clear_eval();
    m.mutable_roles(0)->mutable_programs()->RemoveLast();
  });
  expectMessage("frozen at step -1", [](auto &m) { m.set_freeze_step(-1); });
  expectMessage("no program 'init'", [](auto &m) {
    m.mutable_roles(0)->mutable_programs(0)->set_name("int");
  });
  expectMessage("mesh axis", [](auto &m) {
    m.add_mesh()->set_name("dp");
    m.mutable_mesh(0)->set_value("-1");
  });
}

TEST(Verify, ChecksStates) {
  expectMessage("two states are named", [](auto &m) {
    m.mutable_roles(0)->mutable_states(1)->set_name("w");
  });
  expectMessage("kept by each rank", [](auto &m) {
    m.mutable_roles(0)->mutable_states(0)->set_per_rank(true);
  });
  expectMessage("overlap", [](auto &m) {
    m.mutable_roles(0)->mutable_states(1)->set_offset(0);
  });
  // Units may take turns in one place, but not in that of others.
  expectMessage("states 'w' and 'unit' overlap", [](auto &m) {
    for (const char *name : {"unit", "another"})
      test::addState(*m.mutable_roles(0), name, plan::GATHERED, plan::F32, {1},
                     0);
  });
  expectMessage("not a multiple", [](auto &m) {
    m.mutable_roles(0)->mutable_states(1)->set_offset(68);
  });
  expectMessage("outside", [](auto &m) {
    m.mutable_roles(0)->mutable_states(1)->set_offset(uint64_t(1) << 63);
  });
  expectMessage("impossible shape", [](auto &m) {
    auto *type = m.mutable_roles(0)->mutable_states(0)->mutable_type();
    type->add_dims(int64_t(1) << 62);
    type->add_dims(int64_t(1) << 62);
  });
  expectMessage("unknown type", [](auto &m) {
    m.mutable_roles(0)->mutable_states(0)->mutable_type()->set_dtype(
        plan::DataType(99));
  });
  expectMessage("of no kind", [](auto &m) {
    m.mutable_roles(0)->mutable_states(0)->set_kind(plan::StateKind(99));
  });
  expectMessage("begins as int32", [](auto &m) {
    plan::WeightSource *source =
        m.mutable_roles(0)->mutable_states(0)->mutable_source();
    source->set_key("w");
    source->set_dtype(plan::I32);
  });
  expectMessage("whose optimizer state", [](auto &m) {
    m.mutable_roles(0)->mutable_states(1)->clear_parameter();
  });
}

TEST(Verify, TiesOutputsToTheInputsSamples) {
  auto output = [](plan::Manifest &m) -> plan::Output & {
    return *m.mutable_roles(0)->mutable_programs(2)->mutable_outputs(0);
  };
  auto dims = [&](plan::Manifest &m) {
    plan::Program &eval = *m.mutable_roles(0)->mutable_programs(2);
    return eval.mutable_buffers(eval.outputs(0).buffer())
        ->mutable_type()
        ->mutable_dims();
  };
  expectMessage("it has 1 samples, the inputs have 4",
                [&](auto &m) { output(m).set_batch_dim(1); });
  expectMessage("it has 2 samples, the inputs have 4", [&](auto &m) {
    dims(m)->Set(0, 2);
    dims(m)->Set(1, 2);
  });
  expectMessage("the inputs count none", [](auto &m) {
    for (plan::Input &input :
         *m.mutable_roles(0)->mutable_programs(2)->mutable_inputs())
      if (!input.is_sample_weight())
        input.set_batch_dim(-1);
    m.mutable_roles(0)->mutable_programs(2)->mutable_inputs()->RemoveLast();
  });
  EXPECT_EQ(messageAfter([&](auto &m) { output(m).set_batch_dim(-1); }), "");
}

TEST(Verify, ChecksBuffersInputsOutputs) {
  expectMessage("outside of the region", [](auto &m) {
    step(m).mutable_buffers(0)->set_offset(UINT64_MAX - 3);
  });
  expectMessage("aligned",
                [](auto &m) { step(m).mutable_buffers(0)->set_offset(2); });
  expectMessage("buffer 999",
                [](auto &m) { step(m).mutable_inputs(0)->set_buffer(999); });
  expectMessage("batch dim",
                [](auto &m) { step(m).mutable_inputs(0)->set_batch_dim(2); });
  expectMessage("another input",
                [](auto &m) { step(m).mutable_inputs(0)->set_batch_dim(1); });
  expectMessage("two 'x'",
                [](auto &m) { step(m).mutable_inputs(1)->set_name("x"); });
  expectMessage("has a range but", [](auto &m) {
    step(m).mutable_inputs(0)->mutable_range()->set_max(3);
  });
  expectMessage("a metric is",
                [](auto &m) { step(m).mutable_outputs(0)->set_buffer(0); });
}

TEST(Verify, TheHostComputesOnWhatIsOffloaded) {
  expectMessage("is not offloaded", [](auto &m) {
    for (auto &instruction : *step(m).mutable_instructions())
      if (instruction.has_kernel())
        instruction.set_stream(3);
  });
  expectMessage("is on stream 5", [](auto &m) {
    step(m).mutable_instructions(0)->set_stream(5);
  });
}

TEST(Verify, ChecksWhatIsOffloaded) {
  auto offload = [](plan::Manifest &m, uint64_t bytes) {
    m.mutable_roles(0)->set_offloaded_bytes(bytes);
    step(m).mutable_buffers(0)->set_space(plan::OFFLOADED);
  };
  expectMessage("offloaded region has", [](auto &m) {
    m.mutable_roles(0)->set_offloaded_bytes(UINT64_MAX);
  });
  expectMessage("lie outside", [&](auto &m) { offload(m, 8); });
  // The host writes inputs, and kernels read them.
  expectMessage("is offloaded", [&](auto &m) { offload(m, 1 << 20); });
  expectMessage("is offloaded", [](auto &m) {
    plan::Ring &ring = *m.mutable_roles(0)->add_rings();
    ring.set_slot_bytes(1 << 20);
    ring.set_offloaded(true);
    step(m).mutable_buffers(0)->set_space(plan::FLIGHT);
    step(m).mutable_buffers(0)->set_offloaded(true);
  });
  expectMessage("in no ring there", [](auto &m) {
    step(m).mutable_buffers(0)->set_offloaded(true);
  });
  expectMessage("lies outside of its region", [](auto &m) {
    m.mutable_roles(0)->mutable_states(0)->set_offloaded(true);
  });
  for (uint32_t stream : {streams::kFetches, streams::kStores})
    expectMessage(strCat("stream ", stream), [&](auto &m) {
      step(m).mutable_instructions(0)->set_stream(stream); // no copy
    });
}

TEST(Verify, ChecksInstructions) {
  auto kernel = [](plan::Manifest &m) {
    return step(m).mutable_instructions(1)->mutable_kernel();
  };
  auto call = [](plan::Manifest &m) {
    return step(m).mutable_instructions(0)->mutable_library();
  };
  expectMessage("grid", [&](auto &m) { kernel(m)->set_grid(0); });
  expectMessage("no symbol", [&](auto &m) { kernel(m)->set_symbol("a b"); });
  expectMessage("no buffer 99", [&](auto &m) { kernel(m)->add_buffers(99); });
  expectMessage("inputs", [&](auto &m) { kernel(m)->set_num_inputs(50); });
  // Its room (kernels/Calls) says the rest of a library call.
  expectMessage("no library call for 'matmul2'",
                [&](auto &m) { call(m)->set_op("matmul2"); });
  expectMessage("no buffer 99", [&](auto &m) { call(m)->set_inputs(1, 99); });
  expectMessage("no buffer 99", [&](auto &m) { call(m)->set_outputs(0, 99); });
  expectMessage("no buffer 99", [&](auto &m) { call(m)->set_workspace(99); });
  expectMessage("workspace", [&](auto &m) { call(m)->set_workspace(0); });
  expectMessage("it has 1 inputs",
                [&](auto &m) { call(m)->mutable_inputs()->RemoveLast(); });
  expectMessage("it multiplies", [&](auto &m) {
    call(m)->add_attributes()->set_name("transpose_lhs");
  });
  expectMessage("unknown attribute 'dilations'", [&](auto &m) {
    call(m)->add_attributes()->set_name("dilations");
  });
  expectMessage("attribute 'transpose_lhs' twice", [&](auto &m) {
    for (int i = 0; i < 2; ++i)
      call(m)->add_attributes()->set_name("transpose_lhs");
  });
  expectMessage("accumulator", [&](auto &m) {
    const uint32_t elsewhere = uint32_t(step(m).buffers_size());
    *step(m).add_buffers() = step(m).buffers(int(call(m)->outputs(0)));
    step(m).mutable_buffers(int(elsewhere))->set_offset(0);
    call(m)->set_op("matmul_add");
    call(m)->mutable_inputs()->Clear();
    for (uint32_t index : {elsewhere, 0u, 1u})
      call(m)->add_inputs(index);
  });
  expectMessage("does not know",
                [](auto &m) { step(m).mutable_instructions(0)->clear_kind(); });
  expectMessage("it copies", [](auto &m) {
    m.mutable_roles(0)
        ->mutable_programs(2)
        ->mutable_instructions(1)
        ->mutable_copy()
        ->set_source(0);
  });
}

} // namespace
} // namespace zc
