#include "test/unit/runtime/TinyArtifact.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Npy.h"
#include "runtime/Plan/Order/BuildOrders.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/Verify.h"
#include "runtime/Plan/ZipWriter.h"
#include "test/unit/runtime/PlanBuilder.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace zc::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  root = (fs::temp_directory_path() / "zc-test-XXXXXX").string();
  if (!::mkdtemp(root.data()))
    std::abort();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(root, ignored);
}

std::string readWhole(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void writeWhole(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

namespace {

// Where things lie in the persistent region.
constexpr uint64_t kWeight = 0, kMomentum = 64, kRate = 128, kStep = 192;
constexpr uint64_t kPersistentBytes = 256;
constexpr uint64_t kWorkspace = 256, kWorkspaceBytes = 256 * 1024;

/// Buffers of step and eval: x, w, pred = x * w.
struct Forward {
  uint32_t x, w, pred, workspace;
};

Forward addForward(plan::Program &program) {
  Forward f;
  f.x = addBuffer(program, plan::TRANSIENT, 0, plan::F32, {4, 3});
  f.w = addBuffer(program, plan::PERSISTENT, kWeight, plan::F32, {3, 1});
  f.pred = addBuffer(program, plan::TRANSIENT, 64, plan::F32, {4, 1});
  f.workspace = addBuffer(program, plan::TRANSIENT, kWorkspace, plan::U8,
                          {int64_t(kWorkspaceBytes)});
  program.set_transient_bytes(kWorkspace + kWorkspaceBytes);
  addInput(program, "x", f.x);
  addMatmul(program, f.x, f.w, f.pred, f.workspace);
  return f;
}

void addStep(plan::Program &program) {
  program.set_name("step");
  Forward f = addForward(program);
  auto labels = addBuffer(program, plan::TRANSIENT, 80, plan::F32, {4, 1});
  auto dpred = addBuffer(program, plan::TRANSIENT, 96, plan::F32, {4, 1});
  auto loss = addBuffer(program, plan::TRANSIENT, 112, plan::F32, {});
  auto dw = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {3, 1});
  auto ids = addBuffer(program, plan::TRANSIENT, 192, plan::I64, {4});
  auto rate = addBuffer(program, plan::PERSISTENT, kRate, plan::F32, {});
  auto step = addBuffer(program, plan::PERSISTENT, kStep, plan::I64, {});
  auto momentum =
      addBuffer(program, plan::PERSISTENT, kMomentum, plan::F32, {3, 1});
  addInput(program, "labels", labels, true);
  addInput(program, "ids", ids);
  plan::ValueRange *range =
      program.mutable_inputs(program.inputs_size() - 1)->mutable_range();
  range->set_max(10);
  range->set_has_ignored(true);
  range->set_ignored(-100);
  addKernel(program, "tiny_loss", {f.pred, labels, dpred, loss}, 2, 1);
  addMatmul(program, f.x, dpred, dw, f.workspace, {"transpose_lhs"});
  addKernel(program, "tiny_sgd", {dw, rate, f.w, momentum}, 2, 3);
  addKernel(program, "tiny_count", {step}, 0, 1);
  addMetric(program, "loss", loss);
}

void addEval(plan::Program &program) {
  program.set_name("eval");
  Forward f = addForward(program);
  auto labels = addBuffer(program, plan::TRANSIENT, 80, plan::F32, {4, 1});
  auto weights = addBuffer(program, plan::TRANSIENT, 96, plan::F32, {4});
  auto copy = addBuffer(program, plan::TRANSIENT, 112, plan::F32, {4, 1});
  auto lossSum = addBuffer(program, plan::TRANSIENT, 128, plan::F32, {});
  auto weightSum = addBuffer(program, plan::TRANSIENT, 132, plan::F32, {});
  addInput(program, "labels", labels, true);
  addInput(program, "sample_weight", weights);
  program.mutable_inputs(2)->set_is_sample_weight(true);
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_label("test.copy");
  instruction->mutable_copy()->set_source(f.pred);
  instruction->mutable_copy()->set_destination(copy);
  plan::Output *output = program.add_outputs();
  output->set_name("pred/out");
  output->set_buffer(copy);
  addKernel(program, "tiny_eval", {f.pred, labels, weights, lossSum, weightSum},
            3, 1);
  addMetric(program, "loss_sum", lossSum);
  addMetric(program, "weight_sum", weightSum);
}

void addInit(plan::Program &program) {
  program.set_name("init");
  auto momentum =
      addBuffer(program, plan::PERSISTENT, kMomentum, plan::F32, {3, 1});
  auto step = addBuffer(program, plan::PERSISTENT, kStep, plan::F32, {2});
  addKernel(program, "tiny_zero", {momentum}, 0, 3);
  addKernel(program, "tiny_zero_pair", {step}, 0, 2);
}

template <typename T>
void writeArray(const std::string &path, plan::DataType type,
                const std::vector<int64_t> &dims,
                const std::vector<T> &values) {
  std::string bytes = makeNpyHeader(type, dims);
  bytes.append(reinterpret_cast<const char *>(values.data()),
               values.size() * sizeof(T));
  writeWhole(path, bytes);
}

} // namespace

plan::Manifest tinyManifest() {
  plan::Manifest manifest;
  manifest.set_format_version(kFormatVersion);
  manifest.set_zc_version("0.1.0");
  manifest.set_mode("train");
  manifest.set_model_name("tiny.onnx");
  manifest.set_batch(4);
  manifest.mutable_target()->set_device("cpu");
  manifest.mutable_target()->set_threads(2);
  plan::CodeObject *code = manifest.mutable_target()->add_code();
  code->set_entry("code/tiny.so");
  code->set_arch("tiny");
  code->add_features(thisArchitecture());
  plan::Role &role = *manifest.add_roles();
  role.set_persistent_bytes(kPersistentBytes);
  addState(role, "w", plan::PARAMETER, plan::F32, {3, 1}, kWeight)
      ->mutable_source()
      ->set_key("w");
  plan::State *momentum =
      addState(role, "state.w.momentum_buffer", plan::OPTIMIZER, plan::F32,
               {3, 1}, kMomentum);
  momentum->set_parameter("w");
  momentum->set_slot("momentum_buffer");
  addState(role, "lr", plan::SCALAR, plan::F32, {}, kRate);
  addState(role, "step", plan::SCALAR, plan::I64, {}, kStep);
  addInit(*role.add_programs());
  addStep(*role.add_programs());
  addEval(*role.add_programs());
  Status built = buildOrders(manifest, {});
  EXPECT_TRUE(built.ok()) << built.message();
  return manifest;
}

const char *thisArchitecture() {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86-64";
#endif
}

std::string tinyKernelsPath() { return ZC_TINY_KERNELS; }

void writeArtifact(const std::string &path, const plan::Manifest &manifest) {
  writeArtifact(path, manifest.SerializeAsString());
}

void writeArtifact(const std::string &path, const std::string &manifestBytes,
                   const std::string &codePath) {
  const float weights[3] = {1, 2, 3};
  std::string tensors = makeSafetensorsHeader({{"w", "F32", {3, 1}, {}}});
  tensors.append(reinterpret_cast<const char *>(weights), sizeof(weights));
  Result<ZipWriter> zip = ZipWriter::create(path);
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  ASSERT_TRUE(zip->addBytes(kManifestEntry, manifestBytes).ok());
  for (const char *entry : {"code/tiny.so", "code/future.so"})
    ASSERT_TRUE(zip->addFile(entry, codePath).ok());
  ASSERT_TRUE(zip->addBytes(kWeightsEntry, tensors).ok());
  ASSERT_TRUE(zip->finish().ok());
}

void writeNpy(const std::string &path, const std::vector<int64_t> &dims,
              const std::vector<float> &values) {
  writeArray(path, plan::F32, dims, values);
}

void writeNpy(const std::string &path, const std::vector<int64_t> &dims,
              const std::vector<int64_t> &values) {
  writeArray(path, plan::I64, dims, values);
}

void writeTinyData(const std::string &folder, int64_t samples) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::vector<float> x, labels;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < samples; ++i) {
    float a = float(i % 7) / 7, b = float(i % 5) / 5, c = float(i % 3) / 3;
    x.insert(x.end(), {a, b, c});
    labels.push_back(0.5f * a - b + 2 * c);
    ids.push_back(i % 10);
  }
  writeNpy(folder + "/x.npy", {samples, 3}, x);
  writeNpy(folder + "/labels.npy", {samples, 1}, labels);
  writeNpy(folder + "/ids.npy", {samples}, ids);
}

} // namespace zc::test
