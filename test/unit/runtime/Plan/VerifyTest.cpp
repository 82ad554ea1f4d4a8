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
  expectMessage("format version 1; this program reads version 2; compile the "
                "model again",
                [](auto &m) { m.set_format_version(1); });
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
  expectMessage("stream 2", [](auto &m) {
    step(m).mutable_instructions(0)->set_stream(2); // no copy
  });
}

/// The step's first instruction made a sound attention of 2 queries over 3
/// keys.
plan::AttentionCall &makeAttention(plan::Manifest &manifest) {
  plan::Program &program = step(manifest);
  uint32_t workspace = program.instructions(0).matmul().workspace();
  auto &call = *program.mutable_instructions(0)->mutable_attention();
  for (int i = 0; i < 7; ++i) {
    auto *buffer = program.add_buffers();
    bool ofKeys = i == 1 || i == 2;
    buffer->mutable_type()->set_dtype(plan::F32);
    buffer->set_space(plan::TRANSIENT);
    for (int64_t dim : i == 4 ? std::vector<int64_t>{1, 1, 2}
                              : std::vector<int64_t>{1, ofKeys ? 3 : 2, 1, 1})
      buffer->mutable_type()->add_dims(dim);
    call.add_buffers(program.buffers_size() - 1);
  }
  call.set_backward(true);
  call.set_workspace(workspace);
  return call;
}

TEST(Verify, ChecksAttention) {
  EXPECT_EQ(messageAfter([](auto &m) { makeAttention(m); }), "");
  expectMessage("7 buffers",
                [](auto &m) { makeAttention(m).set_backward(false); });
  expectMessage("no buffer 99",
                [](auto &m) { makeAttention(m).set_buffers(2, 99); });
  expectMessage("workspace", [](auto &m) {
    auto &call = makeAttention(m);
    call.set_workspace(call.buffers(0));
  });
  using Dims = std::vector<int64_t>;
  auto withMask = [](plan::DataType type, const Dims &dims) {
    return [=](auto &m) {
      auto &call = makeAttention(m);
      auto *mask = step(m).add_buffers();
      mask->mutable_type()->set_dtype(type);
      mask->mutable_type()->mutable_dims()->Add(dims.begin(), dims.end());
      mask->set_space(plan::TRANSIENT);
      call.set_mask(step(m).buffers_size() - 1);
    };
  };
  const Dims ofKeys{1, 1, 1, 3}, ofQueries{1, 1, 2, 1};
  EXPECT_EQ(messageAfter(withMask(plan::F32, ofKeys)), "");
  EXPECT_EQ(messageAfter(withMask(plan::I64, ofQueries)), "");
  expectMessage("a mask [1, 1, 1, 3]", withMask(plan::I64, ofKeys));
  expectMessage("a mask [1, 1, 2, 1]", withMask(plan::F32, ofQueries));
  for (int swapped : {1, 4})
    expectMessage("do not fit", [&](auto &m) {
      auto &call = makeAttention(m);
      call.set_buffers(swapped, call.buffers(0));
    });
}

/// The step's first instruction made a sound encoding of 5000 elements.
plan::SparseCall &makeSparse(plan::Manifest &manifest) {
  plan::Program &program = step(manifest);
  auto &call = *program.mutable_instructions(0)->mutable_sparse();
  auto add = [&](plan::DataType type, int64_t size) {
    auto *buffer = program.add_buffers();
    buffer->mutable_type()->set_dtype(type);
    buffer->mutable_type()->add_dims(size);
    buffer->set_space(plan::TRANSIENT);
    return program.buffers_size() - 1;
  };
  call.set_dense(add(plan::F32, 5000));
  call.set_bits(add(plan::I8, 625));
  call.set_offsets(add(plan::I64, 3));
  call.set_values(add(plan::F32, 2000));
  program.set_transient_bytes(program.transient_bytes() + 20000);
  return call;
}

TEST(Verify, ChecksSparseTensors) {
  EXPECT_EQ(messageAfter([](auto &m) { makeSparse(m); }), "");
  expectMessage("no buffer 99", [](auto &m) { makeSparse(m).set_values(99); });
  expectMessage("do not fit", [](auto &m) {
    auto &call = makeSparse(m);
    call.set_bits(call.dense());
  });
  expectMessage("do not fit", [](auto &m) {
    auto &call = makeSparse(m);
    call.set_offsets(call.bits());
  });
  expectMessage("do not fit", [](auto &m) {
    auto &call = makeSparse(m);
    call.set_values(call.offsets());
  });
}

/// The step's first instruction made a sound product of 6 rows by 3 experts.
plan::GroupedMatmulCall &makeGrouped(plan::Manifest &manifest, bool gradient) {
  plan::Program &program = step(manifest);
  auto &call = *program.mutable_instructions(0)->mutable_grouped_matmul();
  auto add = [&](plan::DataType type, std::initializer_list<int64_t> dims) {
    auto *buffer = program.add_buffers();
    buffer->mutable_type()->set_dtype(type);
    for (int64_t dim : dims)
      buffer->mutable_type()->add_dims(dim);
    buffer->set_space(plan::TRANSIENT);
    return program.buffers_size() - 1;
  };
  auto matrices = add(plan::F32, {3, 4, 5}), rows = add(plan::F32, {6, 5});
  call.set_gradient(gradient);
  call.set_a(add(plan::F32, {6, 4}));
  call.set_b(gradient ? rows : matrices);
  call.set_c(gradient ? matrices : rows);
  call.set_groups(add(plan::I64, {6}));
  call.set_ids(add(plan::I32, {3}));
  call.set_workspace(add(plan::U8, {64}));
  program.set_transient_bytes(program.transient_bytes() + 1024);
  return call;
}

TEST(Verify, ChecksProductsByExperts) {
  for (bool gradient : {false, true}) {
    EXPECT_EQ(messageAfter([&](auto &m) { makeGrouped(m, gradient); }), "");
    auto expect = [&](const char *message, auto change) {
      expectMessage(message,
                    [&](auto &m) { change(makeGrouped(m, gradient)); });
    };
    expect("no buffer 99", [](auto &call) { call.set_ids(99); });
    expect("does not fit", [](auto &call) { call.set_transposed(true); });
    expect("does not fit", [](auto &call) { call.set_groups(call.ids()); });
    expect("does not fit", [](auto &call) { call.set_ids(call.a()); });
    expect("does not fit", [](auto &call) { call.set_c(call.a()); });
    expect("does not fit", [](auto &call) { call.set_b(call.groups()); });
    expect("workspace", [](auto &call) { call.set_workspace(call.a()); });
  }
}

TEST(Verify, ChecksInstructions) {
  auto kernel = [](plan::Manifest &m) {
    return step(m).mutable_instructions(1)->mutable_kernel();
  };
  auto matmul = [](plan::Manifest &m) {
    return step(m).mutable_instructions(0)->mutable_matmul();
  };
  expectMessage("grid", [&](auto &m) { kernel(m)->set_grid(0); });
  expectMessage("no symbol", [&](auto &m) { kernel(m)->set_symbol("a b"); });
  expectMessage("no buffer 99", [&](auto &m) { kernel(m)->add_buffers(99); });
  expectMessage("inputs", [&](auto &m) { kernel(m)->set_num_inputs(50); });
  expectMessage("reaches element",
                [&](auto &m) { matmul(m)->mutable_a()->set_strides(0, 1000); });
  expectMessage("strides",
                [&](auto &m) { matmul(m)->mutable_a()->set_strides(0, -1); });
  expectMessage("strides", [&](auto &m) {
    matmul(m)->mutable_a()->set_strides(0, INT64_MAX);
  });
  expectMessage("it multiplies",
                [&](auto &m) { matmul(m)->mutable_a()->set_dims(1, 2); });
  expectMessage("a stride of 0",
                [&](auto &m) { matmul(m)->mutable_c()->set_strides(0, 0); });
  expectMessage("workspace", [&](auto &m) { matmul(m)->set_workspace(0); });
  auto epilogue = [&](plan::Manifest &m) {
    return matmul(m)->mutable_epilogue();
  };
  expectMessage("do not go together", [&](auto &m) {
    epilogue(m)->set_activation(plan::GELU_GRADIENT);
  });
  expectMessage("do not go together", [&](auto &m) {
    epilogue(m)->set_activation(plan::MatmulActivation(77));
  });
  expectMessage("do not go together", [&](auto &m) { // with a ReLU
    plan::Buffer sums = step(m).buffers(int(matmul(m)->c().buffer()));
    sums.mutable_type()->clear_dims();
    sums.mutable_type()->add_dims(matmul(m)->c().dims(0));
    *step(m).add_buffers() = sums;
    epilogue(m)->set_lhs_sums(uint32_t(step(m).buffers_size() - 1));
    epilogue(m)->set_activation(plan::RELU);
  });
  expectMessage("its bits are", [&](auto &m) { // too many
    epilogue(m)->set_activation(plan::RELU_GRADIENT);
    epilogue(m)->set_auxiliary(matmul(m)->workspace());
  });
  expectMessage("no buffer 99", [&](auto &m) { epilogue(m)->set_addend(99); });
  expectMessage("its bias is", [&](auto &m) { // which is of bytes
    epilogue(m)->set_bias(matmul(m)->workspace());
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

TEST(Verify, ChecksConvolutions) {
  auto add = [](plan::Manifest &m) {
    plan::Program &program = step(m);
    auto *call = program.add_instructions()->mutable_convolution();
    auto set = [&](plan::StridedOperand *operand, std::vector<int64_t> dims) {
      operand->set_buffer(3); // the workspace is large enough; of bytes, though
      for (int64_t dim : dims) {
        operand->add_dims(dim);
        operand->add_strides(1);
      }
    };
    set(call->mutable_source(), {1, 2, 5, 5});
    set(call->mutable_filter(), {4, 2, 3, 3});
    set(call->mutable_destination(), {1, 4, 3, 3});
    for (int i = 0; i < 2; ++i) {
      call->add_strides(1);
      call->add_dilations(1);
      call->add_pads_low(0);
      call->add_pads_high(0);
    }
    call->set_groups(1);
    return call;
  };
  expectMessage("unsuitable types", [&](auto &m) { add(m); });
  expectMessage("it convolves", [&](auto &m) { add(m)->set_groups(0); });
  expectMessage("it convolves", [&](auto &m) { add(m)->set_groups(2); });
  expectMessage("it convolves", [&](auto &m) { add(m)->set_strides(0, 0); });
  expectMessage("it convolves",
                [&](auto &m) { add(m)->set_dilations(0, INT64_MAX); });
  expectMessage("it convolves", [&](auto &m) { add(m)->set_pads_low(1, -1); });
  expectMessage("it convolves", [&](auto &m) { add(m)->add_strides(1); });
}

TEST(Verify, ChecksPoolings) {
  auto add = [](plan::Manifest &m) {
    auto *call = step(m).add_instructions()->mutable_pooling();
    auto set = [&](plan::StridedOperand *operand, std::vector<int64_t> dims) {
      operand->set_buffer(3); // the workspace is large enough; of bytes, though
      for (int64_t dim : dims) {
        operand->add_dims(dim);
        operand->add_strides(1);
      }
    };
    set(call->mutable_image(), {1, 2, 6, 6});
    set(call->mutable_pooled(), {1, 2, 3, 3});
    for (int i = 0; i < 2; ++i) {
      call->add_window(3);
      call->add_strides(2);
      call->add_pads_low(1);
      call->add_pads_high(1);
    }
    return call;
  };
  expectMessage("unsuitable types", [&](auto &m) { add(m); });
  expectMessage("it is of no kind",
                [&](auto &m) { add(m)->set_kind(plan::PoolingKind(7)); });
  expectMessage("the image is [1048576, 2, 6, 6] of a buffer of", [&](auto &m) {
    add(m)->mutable_image()->set_dims(0, 1 << 20);
    step(m)
        .mutable_instructions()
        ->rbegin()
        ->mutable_pooling()
        ->mutable_image()
        ->set_strides(0, 0);
  });
  expectMessage("it pools", [&](auto &m) { add(m)->set_strides(1, 0); });
  expectMessage("it pools", [&](auto &m) { add(m)->set_strides(0, 1); });
  expectMessage("it pools", [&](auto &m) { add(m)->set_pads_low(0, -1); });
  expectMessage("it pools", [&](auto &m) { add(m)->set_pads_high(1, 3); });
  expectMessage("it pools", [&](auto &m) { add(m)->set_window(0, 1l << 62); });
  expectMessage("it pools", [&](auto &m) { add(m)->add_window(1); });
  expectMessage("it pools",
                [&](auto &m) { add(m)->mutable_pooled()->set_dims(1, 3); });
}

TEST(Verify, ChecksNorms) {
  // Buffers of its own: images, numbers per channel and workspace, all at 0.
  auto add = [](plan::Manifest &m) {
    auto buffer = [&](plan::DataType type, std::vector<int64_t> dims) {
      plan::Buffer *added = step(m).add_buffers();
      added->mutable_type()->set_dtype(type);
      for (int64_t dim : dims)
        added->mutable_type()->add_dims(dim);
      return uint32_t(step(m).buffers_size() - 1);
    };
    uint32_t image = buffer(plan::BF16, {1, 1, 2, 2}),
             channels = buffer(plan::F32, {2}), pixel = buffer(plan::F32, {1});
    auto *call = step(m).add_instructions()->mutable_norm();
    call->set_image(image);
    call->set_result(image);
    for (auto set : {&plan::NormCall::set_scale, &plan::NormCall::set_bias,
                     &plan::NormCall::set_mean, &plan::NormCall::set_inverse})
      (call->*set)(channels);
    call->set_workspace(buffer(plan::U8, {8}));
    call->mutable_gradient()->set_grad(image);
    call->mutable_gradient()->set_scale_grad(channels);
    call->mutable_gradient()->set_bias_grad(channels);
    return std::make_pair(call, pixel);
  };
  EXPECT_EQ(messageAfter([&](auto &m) { add(m); }), "");
  expectMessage("its scale is", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->set_scale(pixel);
  });
  expectMessage("its result is", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->set_result(pixel);
  });
  expectMessage("it normalises", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->set_image(pixel);
  });
  expectMessage("it normalises", [&](auto &m) { // a gradient has no addend
    auto [call, pixel] = add(m);
    call->set_addend(call->image());
  });
  expectMessage("its scale_grad is", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->mutable_gradient()->set_scale_grad(call->image());
  });
  expectMessage("its workspace is", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->set_workspace(pixel);
  });
  expectMessage("there is no buffer", [&](auto &m) {
    auto [call, pixel] = add(m);
    call->mutable_gradient()->set_grad(1000);
  });
}

} // namespace
} // namespace zc
