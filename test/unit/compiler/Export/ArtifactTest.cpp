//===- ArtifactTest.cpp ---------------------------------------------------===//
#include "compiler/Export/Artifact.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Safetensors.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace mlir;

namespace zc {
namespace {

constexpr const char *kModule = R"mlir(
module attributes {sched.persistent_bytes = 256 : i64} {
  train.state @w "parameter" : tensor<3x5xf32>
      {offset = 0 : i64, aliases = ["tied"],
       source = {file = "model.data", offset = 8 : i64, length = 60 : i64}}
  train.state @m "optimizer" : tensor<3x5xf32>
      {offset = 64 : i64, parameter = "w", slot = "exp_avg"}
  train.state @mask "constant" : tensor<4xi1>
      {offset = 128 : i64, value = dense<[true, false, true, true]> : tensor<4xi1>}
  train.state @lr "scalar" : tensor<f32>
      {offset = 192 : i64, value = dense<0.5> : tensor<f32>}

  sched.kernel @k attributes {grid = 7 : i64, shared = array<i64: 0, 0>} {
  ^bb0(%a: tensor<4x5xf32>):
    train.yield %a : tensor<4x5xf32>
  }
  sched.kernel @zero attributes {grid = 1 : i64, symbol = "zc_zero"} {
    %0 = train.constant dense<0.0> : tensor<3x5xf32>
    train.yield %0 : tensor<3x5xf32>
  }

  sched.program @init attributes {transient_bytes = 0 : i64} {
    %m = sched.state @m : memref<3x5xf32>
    %new = sched.view %m : memref<3x5xf32> to memref<3x5xf32>
    sched.launch @zero outs(%new : memref<3x5xf32>)
  }
  sched.program @step attributes {transient_bytes = 384 : i64} {
    %w = sched.state @w : memref<3x5xf32>
    %x = sched.input "x" {batch_dim = 0 : i64, offset = 0 : i64} : memref<4x3xf32>
    %labels = sched.input "labels" {label, offset = 64 : i64, batch_dim = 0 : i64,
        range = array<i64: 0, 5, -100>} : memref<4xi64>
    %a = sched.alloc "activations" {offset = 128 : i64} : memref<4x5xf32>
    %ws = sched.alloc "workspace" {offset = 256 : i64} : memref<100xui8>
    sched.library_call "onednn.matmul" "train.matmul" {}
        ins(%x, %w : memref<4x3xf32>, memref<3x5xf32>) outs(%a : memref<4x5xf32>)
        workspace(%ws : memref<100xui8>) {flops = 120.0 : f64, label = "train.matmul fc"}
    %b = sched.view %a {memory_class = "gradients"} : memref<4x5xf32> to memref<4x5xf32>
    sched.launch @k ins(%a : memref<4x5xf32>) outs(%b : memref<4x5xf32>) {label = "k"}
    %g = sched.alloc "gradients" {offset = 256 : i64} : memref<3x5xf32>
    sched.library_call "onednn.matmul" "train.matmul" {transpose_lhs}
        ins(%x, %b : memref<4x3xf32>, memref<4x5xf32>) outs(%g : memref<3x5xf32>)
    %new = sched.view %w : memref<3x5xf32> to memref<3x5xf32>
    sched.copy %g to %new : memref<3x5xf32> to memref<3x5xf32>
    sched.output "output" "y" %b {batch_dim = 0 : i64} : memref<4x5xf32>
  }
}
)mlir";

constexpr const char *kRoles = R"mlir(
module {
  module @role0 attributes {train.role = 0 : i64,
                            sched.persistent_bytes = 64 : i64,
                            dist.mesh = #dist.mesh<pp=2>} {
    train.state @w "parameter" : tensor<f32>
        {offset = 0 : i64, value = dense<0.5> : tensor<f32>}
    sched.program @forward attributes {transient_bytes = 0 : i64} {
    }
    sched.program @backward attributes {transient_bytes = 0 : i64} {
    }
    sched.program @apply attributes {transient_bytes = 0 : i64} {
    }
  }
  module @role1 attributes {train.role = 1 : i64,
                            sched.persistent_bytes = 128 : i64,
                            dist.mesh = #dist.mesh<pp=2>} {
    train.state @w "parameter" : tensor<f32>
        {offset = 0 : i64, value = dense<0.5> : tensor<f32>}
    train.state @b "parameter" : tensor<f32> {offset = 64 : i64}
    sched.program @init attributes {transient_bytes = 0 : i64} {
    }
    sched.program @micro attributes {transient_bytes = 0 : i64} {
    }
    sched.program @apply attributes {transient_bytes = 0 : i64} {
    }
  }
}
)mlir";

class ArtifactTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<dist::DistDialect, sched::SchedDialect,
                        train::TrainDialect, memref::MemRefDialect>();
    std::string pattern =
        (std::filesystem::temp_directory_path() / "zc-export-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    std::ofstream data(folder / "model.data", std::ios::binary);
    data << "skip it!";
    for (int i = 0; i < 15; ++i) {
      auto value = static_cast<float>(i);
      data.write(reinterpret_cast<const char *>(&value), sizeof value);
    }
  }

  void TearDown() override { std::filesystem::remove_all(folder); }

  ExportInput parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    ExportInput input;
    input.module = *module;
    input.code = {{"x86-64-v3", {"avx2"}, "machine code"}};
    input.model = "the graph";
    input.modelName = "model.onnx";
    input.modelFolder = folder.string();
    input.batch = 4;
    input.loss = "mse";
    input.settings = {{"momentum", "0.9"}};
    return input;
  }

  std::string path() const { return (folder / "out.zca").string(); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::filesystem::path folder;
};

// Tests that what is written is what the runtime loads.
TEST_F(ArtifactTest, RoundTrip) {
  ExportInput input = parse(kModule);
  Status status = writeArtifact(input, path());
  ASSERT_TRUE(status.ok()) << status.message();
  Result<Artifact> artifact = Artifact::load(path());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  const plan::Manifest &manifest = artifact->manifest();
  EXPECT_EQ(manifest.batch(), 4);
  EXPECT_EQ(manifest.roles(0).persistent_bytes(), 256u);
  EXPECT_EQ(manifest.settings(0).value(), "0.9");
  EXPECT_EQ(*artifact->code(manifest.target().code(0)), "machine code");
  EXPECT_EQ(manifest.target().code(0).entry(), "code/x86-64-v3.so");
}

// Tests the states: kinds, names for the model, and initial values from a file,
// from a constant (booleans are bytes) and from nowhere.
TEST_F(ArtifactTest, States) {
  ASSERT_TRUE(writeArtifact(parse(kModule), path()).ok());
  Result<Artifact> artifact = Artifact::load(path());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  const plan::Manifest &manifest = artifact->manifest();
  ASSERT_EQ(manifest.roles(0).states_size(), 4);
  const plan::State &w = manifest.roles(0).states(0),
                    &m = manifest.roles(0).states(1);
  EXPECT_EQ(w.kind(), plan::PARAMETER);
  ASSERT_EQ(w.onnx_names_size(), 2);
  EXPECT_EQ(w.onnx_names(1), "tied");
  std::string_view bytes = artifact->initialBytes(w);
  ASSERT_EQ(bytes.size(), 60u);
  float last = 0;
  std::memcpy(&last, bytes.data() + 56, sizeof last);
  EXPECT_EQ(last, 14);
  EXPECT_FALSE(m.has_source());
  EXPECT_EQ(m.slot(), "exp_avg");
  EXPECT_EQ(artifact->initialBytes(manifest.roles(0).states(2)),
            std::string_view("\1\0\1\1", 4));
  EXPECT_EQ(manifest.roles(0).states(2).onnx_names_size(), 0);
  EXPECT_EQ(manifest.roles(0).states(3).kind(), plan::SCALAR);
}

// Tests that nested modules are roles, and that what two of them hold is stored
// once.
TEST_F(ArtifactTest, Roles) {
  ExportInput input = parse(kRoles);
  input.accumulate = 2;
  ASSERT_TRUE(writeArtifact(input, path()).ok());
  Result<Artifact> artifact = Artifact::load(path());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  const plan::Manifest &manifest = artifact->manifest();
  ASSERT_EQ(manifest.roles_size(), 2);
  EXPECT_EQ(manifest.mesh(0).name(), "pp");
  EXPECT_EQ(manifest.roles(0).states_size(), 1);
  EXPECT_EQ(manifest.roles(1).states_size(), 2);
  EXPECT_EQ(manifest.roles(1).persistent_bytes(), 128u);
  EXPECT_EQ(manifest.roles(1).programs(0).name(), "init");
  EXPECT_EQ(artifact->role().programs(0).name(), "forward");
  Artifact second = artifact->forRole(1);
  EXPECT_EQ(&second.role(), &manifest.roles(1));
  EXPECT_NE(second.program("init"), nullptr);
  EXPECT_EQ(artifact->program("init"), nullptr);
  // Two forwards, two backwards and the end; what is both in one, and the end.
  EXPECT_EQ(manifest.roles(0).train().actions_size(), 5);
  EXPECT_EQ(manifest.roles(1).train().actions_size(), 3);
  for (const Artifact &view : {*artifact, second})
    EXPECT_EQ(view.initialBytes(view.role().states(0)),
              std::string_view("\0\0\0\x3f", 4));
  const ZipEntry *weights = artifact->archive().find(kWeightsEntry);
  auto tensors = parseSafetensors(*artifact->archive().view(*weights));
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ(tensors->size(), 1u);
}

// Tests inputs, outputs, and live ranges: a value ends where the next one in
// its memory begins.
TEST_F(ArtifactTest, Buffers) {
  Result<plan::Manifest> manifest = buildManifest(parse(kModule));
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  const plan::Program &step = manifest->roles(0).programs(1);
  ASSERT_EQ(step.inputs_size(), 2);
  EXPECT_EQ(step.inputs(1).batch_dim(), 0);
  EXPECT_TRUE(step.inputs(1).is_label());
  EXPECT_EQ(step.inputs(1).range().max(), 5);
  EXPECT_EQ(step.inputs(1).range().ignored(), -100);
  const plan::LibraryCall &matmul = step.instructions(0).library();
  const plan::Buffer &a = step.buffers(int(matmul.outputs(0)));
  EXPECT_EQ(a.memory_class(), plan::ACTIVATIONS);
  EXPECT_EQ(a.first_use(), 0u);
  EXPECT_EQ(a.last_use(), 1u);
  EXPECT_EQ(a.name(), "train.matmul fc");
  const plan::Buffer &b = step.buffers(step.outputs(0).buffer());
  EXPECT_EQ(b.memory_class(), plan::GRADIENTS);
  EXPECT_EQ(b.offset(), a.offset());
  EXPECT_EQ(b.first_use(), 1u);
  EXPECT_EQ(b.last_use(), 3u);
  const plan::Buffer &workspace = step.buffers(int(matmul.workspace()));
  EXPECT_TRUE(matmul.has_workspace());
  EXPECT_EQ(workspace.type().dtype(), plan::U8);
  EXPECT_EQ(workspace.last_use(), 0u);
  EXPECT_EQ(step.instructions(1).kernel().grid(), 7);
  EXPECT_EQ(manifest->roles(0).programs(0).instructions(0).kernel().symbol(),
            "zc_zero");
}

std::vector<int64_t> list(const google::protobuf::RepeatedField<int64_t> &f) {
  return {f.begin(), f.end()};
}

// Tests that a call has the operands in their order, and those of the op's
// attributes that its room reads.
TEST_F(ArtifactTest, LibraryCalls) {
  Result<plan::Manifest> manifest = buildManifest(parse(kModule));
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  const plan::Program &step = manifest->roles(0).programs(1);
  const plan::LibraryCall &call = step.instructions(2).library();
  EXPECT_EQ(call.op(), "matmul");
  EXPECT_FALSE(call.has_workspace());
  ASSERT_EQ(call.attributes_size(), 1);
  EXPECT_EQ(call.attributes(0).name(), "transpose_lhs");
  const kernels::MatmulSpec spec =
      kernels::MatmulCall::specOf(describeCall(step, call));
  EXPECT_EQ(spec.a.dims, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(spec.a.strides, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(spec.b.strides, (std::vector<int64_t>{5, 1}));
}

constexpr const char kConvolution[] = R"mlir(
module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 65536 : i64} {
    %s = sched.input "s" {offset = 0 : i64} : memref<2x8x9x6xf32>
    %f = sched.input "f" {offset = 8192 : i64} : memref<4x3x3x3xf32>
    %d = sched.alloc "activations" {offset = 40960 : i64} : memref<2x8x5x4xf32>
    sched.library_call "onednn.convolution" "train.conv" {
      strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>,
      pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>,
      groups = 2 : i64, channels_last, something.else}
      ins(%s, %f : memref<2x8x9x6xf32>, memref<4x3x3x3xf32>)
      outs(%d : memref<2x8x5x4xf32>)
  }
}
)mlir";

// Tests that lists, numbers and marks reach the plan, and nothing else.
TEST_F(ArtifactTest, AttributesOfLibraryCalls) {
  Result<plan::Manifest> manifest = buildManifest(parse(kConvolution));
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  const plan::Program &step = manifest->roles(0).programs(0);
  const plan::LibraryCall &call = step.instructions(0).library();
  EXPECT_EQ(call.attributes_size(), 6);
  const kernels::ConvolutionSpec spec =
      kernels::ConvolutionCall::specOf(describeCall(step, call));
  EXPECT_EQ(spec.strides, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(spec.groups, 2);
  EXPECT_EQ(spec.source.dims, (std::vector<int64_t>{2, 6, 8, 9}));
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to);

// Tests that what an op says and no room knows is not lost silently.
TEST_F(ArtifactTest, AttributesThatNoRoomKnows) {
  auto messageFor = [&](const std::string &attribute) {
    return std::string(
        buildManifest(
            parse(replaced(kConvolution, "something.else", attribute)))
            .status()
            .message());
  };
  EXPECT_NE(
      messageFor("fused_relu")
          .find("library call 'onednn.convolution' for 'train.conv': attribute "
                "'fused_relu' is unknown to calls of kind 'convolution'"),
      std::string::npos)
      << messageFor("fused_relu");
  EXPECT_NE(messageFor("train.norm = {other}").find("'train.norm.other'"),
            std::string::npos);
  const std::string flag =
      buildManifest(
          parse(replaced(kConvolution, "groups = 2 : i64", "groups = true")))
          .status()
          .message();
  EXPECT_NE(
      flag.find("attribute 'groups' is neither integers, a number, a text "
                "nor a mark"),
      std::string::npos)
      << flag;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

// Tests that weights that are not where they should be are the user's to mend,
// and that no half artifact is left.
TEST_F(ArtifactTest, WeightsThatAreMissing) {
  Status status =
      writeArtifact(parse(replaced(kModule, "offset = 8 : i64, length",
                                   "offset = 80 : i64, length")),
                    path());
  EXPECT_EQ(status.code(), StatusCode::Corrupt);
  EXPECT_NE(status.message().find("initializer 'w'"), std::string::npos);
  EXPECT_NE(status.message().find("model.data"), std::string::npos);
  status = writeArtifact(parse(replaced(kModule, "model.data", "other.data")),
                         path());
  EXPECT_FALSE(status.ok());
  status = writeArtifact(parse(replaced(kModule, "length = 60", "length = 56")),
                         path());
  EXPECT_NE(status.message().find("takes 60 bytes, but 56 are stored"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

// Tests that a module that is not finished is our own fault and says so.
TEST_F(ArtifactTest, UnfinishedModules) {
  for (auto [from, to] :
       {std::pair("grid = 7 : i64, ", ""),
        std::pair(" attributes {transient_bytes = 384 : i64}", ""),
        std::pair("module attributes {sched.persistent_bytes = 256 : i64}",
                  "module"),
        std::pair("{offset = 0 : i64, aliases", "{aliases"),
        std::pair("\"train.matmul\"", "\"train.other\"")}) {
    Result<plan::Manifest> manifest =
        buildManifest(parse(replaced(kModule, from, to)));
    EXPECT_FALSE(manifest.ok()) << from;
    EXPECT_EQ(manifest.status().code(), StatusCode::Internal);
  }
}

// Tests tensors that only `zc export` needs.
TEST_F(ArtifactTest, FurtherTensors) {
  ExportInput input = parse(kModule);
  StoredTensor tensor;
  tensor.name = "folded";
  tensor.type.set_dtype(plan::I64);
  tensor.type.add_dims(1);
  tensor.bytes = std::string("\7\0\0\0\0\0\0\0", 8);
  input.tensors.push_back(tensor);
  ASSERT_TRUE(writeArtifact(input, path()).ok());
  EXPECT_TRUE(Artifact::load(path()).ok());
  input.tensors[0].bytes.pop_back();
  EXPECT_FALSE(writeArtifact(input, path()).ok());
}

} // namespace
} // namespace zc
