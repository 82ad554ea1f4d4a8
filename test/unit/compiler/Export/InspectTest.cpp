//===- InspectTest.cpp ----------------------------------------------------===//
#include "compiler/Export/Inspect.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <cmath>

namespace zc {
namespace {

void addState(plan::Manifest &manifest, plan::StateKind kind, int64_t floats) {
  if (manifest.roles().empty())
    manifest.add_roles();
  plan::State &state = *manifest.mutable_roles(0)->add_states();
  state.set_kind(kind);
  state.mutable_type()->set_dtype(plan::F32);
  state.mutable_type()->add_dims(floats);
}

struct Place {
  uint64_t offset;
  int64_t bytes;
  uint32_t first, last;
};

void addBuffer(plan::Program &program, plan::MemoryClass memoryClass,
               Place place) {
  plan::Buffer &buffer = *program.add_buffers();
  buffer.set_space(plan::TRANSIENT);
  buffer.set_memory_class(memoryClass);
  buffer.set_offset(place.offset);
  buffer.mutable_type()->set_dtype(plan::U8);
  buffer.mutable_type()->add_dims(place.bytes);
  buffer.set_first_use(place.first);
  buffer.set_last_use(place.last);
}

void addKernel(plan::Program &program, const std::string &symbol,
               const std::string &label) {
  plan::Instruction &instruction = *program.add_instructions();
  instruction.mutable_kernel()->set_symbol(symbol);
  instruction.set_label(label);
}

/// The factors and the product are one matrix of one element, which lies in the
/// first buffer.
void addProduct(plan::Program &program) {
  const auto matrix = uint32_t(program.buffers_size());
  addBuffer(program, plan::ACTIVATIONS, {0, 1, 0, 0});
  program.mutable_buffers(int(matrix))->mutable_type()->add_dims(1);
  plan::LibraryCall &call = *program.add_instructions()->mutable_library();
  call.set_op("matmul");
  call.add_inputs(matrix);
  call.add_inputs(matrix);
  call.add_outputs(matrix);
}

// Two activations of 100 and 200 bytes that meet at instruction 1, a gradient
// that takes over the second one's bytes, a view of the first, a workspace.
plan::Manifest makeManifest() {
  plan::Manifest manifest;
  manifest.set_mode("train");
  manifest.set_model_name("model.onnx");
  plan::Role &role = *manifest.add_roles();
  role.set_persistent_bytes(4096);
  manifest.mutable_target()->set_device("cpu");
  addState(manifest, plan::PARAMETER, 100);
  addState(manifest, plan::CONSTANT, 10);
  addState(manifest, plan::OPTIMIZER, 200);
  addState(manifest, plan::STATISTIC, 2);
  addState(manifest, plan::SCALAR, 1);
  plan::Program &step = *role.add_programs();
  step.set_name("step");
  step.set_transient_bytes(1024);
  addBuffer(step, plan::ACTIVATIONS, {0, 100, 0, 1});
  addBuffer(step, plan::ACTIVATIONS, {0, 100, 1, 1});
  addBuffer(step, plan::ACTIVATIONS, {128, 200, 1, 2});
  addBuffer(step, plan::GRADIENTS, {128, 200, 2, 3});
  addBuffer(step, plan::WORKSPACE, {512, 50, 2, 2});
  addBuffer(step, plan::PARAMETERS, {0, 400, 0, 3});
  step.mutable_buffers(step.buffers_size() - 1)->set_space(plan::PERSISTENT);
  addKernel(step, "k0", "zero");
  addKernel(step, "k1", "one");
  addKernel(step, "k0", "two");
  addProduct(step);
  plan::Program &eval = *role.add_programs();
  eval.set_name("eval");
  eval.set_transient_bytes(512);
  addBuffer(eval, plan::ACTIVATIONS, {0, 400, 0, 0});
  addKernel(eval, "k1", "forward");
  return manifest;
}

// Tests that each class stands at its own maximum, over time and programs, that
// shared bytes count once, and that the peak is what is allocated.
TEST(InspectTest, Memory) {
  MemoryReport report = measureMemory(makeManifest());
  EXPECT_EQ(report.classes[plan::PARAMETERS], 440u);
  EXPECT_EQ(report.classes[plan::OPTIMIZER_STATE], 800u);
  EXPECT_EQ(report.classes[plan::GRADIENTS], 200u);
  EXPECT_EQ(report.classes[plan::ACTIVATIONS], 400u + 12);
  EXPECT_EQ(report.classes[plan::WORKSPACE], 50u);
  EXPECT_EQ(report.classes[plan::COMMUNICATION], 0u);
  EXPECT_EQ(report.peak, 4096u + 1024);
  ASSERT_EQ(report.programs.size(), 2u);
  EXPECT_EQ(report.programs[0].classes[plan::ACTIVATIONS], 300u);
  EXPECT_EQ(report.programs[0].liveBytes, 300u);
  EXPECT_EQ(report.programs[0].liveAt, 1);
  EXPECT_EQ(report.programs[0].liveAtLabel, "one");
  EXPECT_EQ(report.peakProgram, 0);
}

// Tests that what is there at the peak adds up to it, and each byte counts in
// the class of its newest value.
TEST(InspectTest, Peak) {
  plan::Manifest manifest = makeManifest();
  MemoryReport report = measureMemory(manifest);
  EXPECT_EQ(report.atPeak[plan::PARAMETERS], 440u);
  EXPECT_EQ(report.atPeak[plan::OPTIMIZER_STATE], 800u);
  EXPECT_EQ(report.atPeak[plan::ACTIVATIONS], 300u + 12);
  EXPECT_EQ(report.atPeak[plan::GRADIENTS], 0u);
  EXPECT_EQ(report.unusedAtPeak, 4096u + 1024 - 1552);
  EXPECT_EQ(report.optimizerBytesPerParameter, 8);
  addBuffer(*manifest.mutable_roles(0)->mutable_programs(0), plan::GRADIENTS,
            {0, 40, 1, 3});
  report = measureMemory(manifest);
  EXPECT_EQ(report.atPeak[plan::ACTIVATIONS], 260u + 12);
  EXPECT_EQ(report.atPeak[plan::GRADIENTS], 40u);
}

// Tests that a parameter that the step does not touch is not a trained one.
TEST(InspectTest, Trained) {
  plan::Manifest manifest = makeManifest();
  EXPECT_EQ(measureMemory(manifest).trained, 100u);
  addState(manifest, plan::PARAMETER, 50);
  plan::Role &role = *manifest.mutable_roles(0);
  role.mutable_states(role.states_size() - 1)->set_offset(2048);
  EXPECT_EQ(measureMemory(manifest).trained, 100u);
}

TEST(InspectTest, Ops) {
  OpsReport report = countOps(makeManifest());
  EXPECT_EQ(report.byKind.at("kernel"), 4u);
  EXPECT_EQ(report.byKind.at("matmul"), 1u);
  EXPECT_EQ(report.byProgram.at("eval").at("kernel"), 1u);
  EXPECT_EQ(report.kernels, 2u);
  EXPECT_EQ(report.ptxEntries, 0u);
}

// Tests the keys that users' scripts rely on.
TEST(InspectTest, Json) {
  InspectOptions options;
  options.json = options.memory = options.ops = options.comm = true;
  options.schedule = true;
  auto json = nlohmann::json::parse(inspect(makeManifest(), options));
  const auto &memory = json["memory"];
  for (const char *key : {"parameters", "gradients", "optimizer", "activations",
                          "communication", "workspace", "peak"})
    EXPECT_TRUE(memory[key].is_number_unsigned()) << key;
  EXPECT_EQ(memory["peak"], 5120);
  uint64_t together = 0;
  for (const auto &[key, bytes] : memory["at_peak"].items())
    together += bytes.get<uint64_t>();
  EXPECT_EQ(together, 5120u);
  EXPECT_EQ(memory["optimizer_bytes_per_parameter"], 8);
  EXPECT_EQ(memory["programs"]["eval"]["peak"], 4608);
  EXPECT_EQ(json["ops"]["by_kind"]["kernel"], 4);
  EXPECT_EQ(json["ops"]["kernels"], 2);
  EXPECT_EQ(json["ops"]["ptx_entries"], 0);
  EXPECT_EQ(json["comm"]["sent_bytes"], 0);
  EXPECT_EQ(json["comm"]["by_kind"]["gradients"]["bytes"], 0);
  EXPECT_EQ(json["schedule"]["step"][1]["label"], "one");
}

// Tests that only the sections asked for are there, and that none means a
// summary.
TEST(InspectTest, Sections) {
  InspectOptions options;
  options.json = true;
  options.ops = true;
  auto json = nlohmann::json::parse(inspect(makeManifest(), options));
  EXPECT_FALSE(json.contains("memory"));
  options.ops = false;
  json = nlohmann::json::parse(inspect(makeManifest(), options));
  EXPECT_TRUE(json.contains("memory"));
  EXPECT_FALSE(json.contains("schedule"));
}

TEST(InspectTest, Text) {
  InspectOptions options;
  options.memory = true;
  std::string text = inspect(makeManifest(), options);
  EXPECT_NE(text.find("peak                 5120 B = 4096 B persistent + "
                      "1024 B transient"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("step: 1024 B transient; most live at instruction 1 "
                      "(one), 300 B"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("schedule of"), std::string::npos);
  options.schedule = true;
  EXPECT_NE(inspect(makeManifest(), options).find("schedule of eval"),
            std::string::npos);
}

// Tests that labels in a broken encoding still make valid JSON.
TEST(InspectTest, LabelsInAnyEncoding) {
  plan::Manifest manifest;
  manifest.set_model_name("\xff\xfe.onnx");
  manifest.add_roles();
  InspectOptions options;
  options.json = true;
  EXPECT_NO_THROW({
    auto json = nlohmann::json::parse(inspect(manifest, options));
    EXPECT_EQ(json["memory"]["peak"], 0);
  });
}

TEST(InspectTest, Sizes) {
  EXPECT_EQ(printSize(712), "712 B");
  EXPECT_EQ(printSize(20 << 10), "20.0 KiB");
  EXPECT_EQ(printSize(3407872), "3.25 MiB");
  EXPECT_EQ(printSize(uint64_t(5) << 30), "5.00 GiB");
}

TEST(InspectTest, CountsLayersByTheirNumbers) {
  plan::Manifest manifest;
  manifest.add_roles();
  EXPECT_EQ(countLayers(manifest), 1);
  for (const char *name :
       {"wte.weight", "h.0.fc.weight", "h.0.fc.bias", "h.1.fc.weight"}) {
    addState(manifest, plan::PARAMETER, 1);
    manifest.mutable_roles(0)->mutable_states()->rbegin()->set_name(name);
  }
  addState(manifest, plan::OPTIMIZER, 1);
  manifest.mutable_roles(0)->mutable_states()->rbegin()->set_name(
      "state.h.2.fc.weight.exp_avg");
  addState(manifest, plan::PARAMETER, 1);
  manifest.mutable_roles(0)
      ->mutable_states()
      ->rbegin()
      ->add_members()
      ->set_name("h.12.fc.bias");
  EXPECT_EQ(countLayers(manifest), 3);
}

// A model of so many layers, whose step keeps `bytes`.
NamedManifest makeLayers(const std::string &policy, int layers, int64_t bytes) {
  plan::Manifest manifest;
  plan::Setting &setting = *manifest.add_settings();
  setting.set_name("recompute");
  setting.set_value(policy);
  for (int i = 0; i < layers; ++i) {
    addState(manifest, plan::PARAMETER, 1);
    manifest.mutable_roles(0)->mutable_states()->rbegin()->set_name(
        "h." + std::to_string(i) + ".w");
  }
  plan::Program &step = *manifest.mutable_roles(0)->add_programs();
  step.set_name("step");
  step.set_transient_bytes(uint64_t(bytes) << 20);
  addBuffer(step, plan::ACTIVATIONS, {0, bytes << 20, 0, 0});
  addKernel(step, "k0", "forward");
  return {policy + "-" + std::to_string(layers), manifest};
}

// Tests that artifacts of equal settings make one curve in whatever order they
// come, and that it goes from few layers to many.
TEST(InspectTest, CurvesAreOfEqualSettings) {
  std::vector<NamedManifest> artifacts;
  for (int layers : {16, 25, 4, 9}) {
    artifacts.push_back(makeLayers("none", layers, layers));
    artifacts.push_back(
        makeLayers("sqrt", layers, std::lround(std::sqrt(layers))));
  }
  std::string page = compareAsHtml(artifacts);
  auto count = [&](const std::string &text) {
    size_t found = 0;
    for (size_t at = page.find(text); at != std::string::npos;
         at = page.find(text, at + 1))
      ++found;
    return found;
  };
  // In the curves of activations and of the peak.
  EXPECT_EQ(count("<tr><td>none</td><td>0.00 + 1.00 &middot; layers</td>"), 2u)
      << page;
  EXPECT_EQ(count("<tr><td>sqrt</td><td>0.00 + 1.00 &middot; layers<sup>0.50"),
            2u);
  size_t few = page.find("none-4: 4.00 layers"),
         many = page.find("none-16: 16.00 layers");
  EXPECT_LT(few, many);
}

// Tests that several artifacts that differ in their models alone, as in width,
// are curves of their own.
TEST(InspectTest, EqualLayersAreOfSeveralCurves) {
  std::vector<NamedManifest> artifacts;
  for (int64_t width : {1, 2})
    for (int layers : {16, 25, 4, 9}) {
      artifacts.push_back(makeLayers("none", layers, width * layers));
      artifacts.back().name =
          "w" + std::to_string(width) + "-" + std::to_string(layers);
    }
  std::string page = compareAsHtml(artifacts);
  EXPECT_NE(page.find(" + 1.00 &middot; layers</td>"), std::string::npos);
  EXPECT_NE(page.find(" + 2.00 &middot; layers</td>"), std::string::npos);
}

TEST(InspectTest, FindsThePowerOfLayers) {
  std::vector<double> layers = {4, 9, 16, 25}, values;
  for (double each : layers)
    values.push_back(3 + 2 * std::sqrt(each));
  PowerFit best = fitPower(layers, values);
  EXPECT_EQ(best.exponent, 0.5);
  EXPECT_NEAR(best.offset, 3, 1e-9);
  EXPECT_NEAR(best.slope, 2, 1e-9);
  EXPECT_LT(best.error, 1e-9);
  EXPECT_GT(fitPower(layers, values, 1).error, 0.01);
  // One point, and equal ones, have no slope.
  EXPECT_EQ(fitPower({4}, {7}).slope, 0);
  EXPECT_NEAR(fitPower({4, 4}, {7, 7}).offset, 7, 1e-9);
}

} // namespace
} // namespace zc
