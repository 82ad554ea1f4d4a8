//===- CollectiveTest.cpp - every kind of collective, from IR to ranks ----===//
#include "compiler/Export/Artifact.h"
#include "runtime/Comm/InProcess/InProcess.h"
#include "runtime/Exec/Collectives.h"
#include "runtime/Plan/Verify.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <thread>

using namespace mlir;

namespace zc {
namespace {

constexpr int kRanks = 4;

/// One collective among four ranks, from `sent` elements to `received`.
struct Case {
  std::string kind, attributes;
  int sent, received;
  /// The result of rank r, when element i of rank r was 10 r + i; -1: it is
  /// undefined.
  std::vector<float> expected[kRanks];
};

std::string moduleOf(const Case &test) {
  auto type = [](int elements) {
    return "memref<" + std::to_string(elements) + "xf32>";
  };
  return "module attributes {sched.persistent_bytes = 0 : i64, "
         "dist.mesh = #dist.mesh<dp=2,tp=2>} {\n"
         "sched.program @step attributes {transient_bytes = 256 : i64} {\n"
         "%x = sched.input \"x\" {offset = 0 : i64} : " +
         type(test.sent) +
         "\n%y = sched.alloc \"communication\" {offset = 64 : i64} : " +
         type(test.received) +
         "\n%w = sched.alloc \"communication\" {offset = 128 : i64} : "
         "memref<128xui8>\nsched.collective \"" +
         test.kind +
         "\" [\"dp\", \"tp\"] \"activations\" %x to %y workspace %w "
         ": memref<128xui8>, {" +
         test.attributes + "} : " + type(test.sent) + " to " +
         type(test.received) + "\n}\n}\n";
}

class CollectiveTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    context.loadDialect<sched::SchedDialect, train::TrainDialect,
                        dist::DistDialect, memref::MemRefDialect>();
    module = parseSourceString<ModuleOp>(moduleOf(GetParam()), &context);
    ASSERT_TRUE(module);
    ExportInput input;
    input.module = *module;
    input.code = {{"x86-64-v3", {"avx2"}, "machine code"}};
    input.modelName = "model.onnx";
    Result<plan::Manifest> built = buildManifest(input);
    ASSERT_TRUE(built.ok()) << built.status().message();
    manifest = *built;
  }

  void run(World &world, const Mesh &mesh) {
    const plan::Program &program = manifest.roles(0).programs(0);
    alignas(64) char memory[256] = {};
    AddressMap map(program, nullptr, memory);
    const plan::Instruction &instruction = program.instructions(0);
    auto *source =
        static_cast<float *>(map.address(instruction.collective().source()));
    for (int i = 0; i < GetParam().sent; ++i)
      source[i] = float(10 * world.rank() + i);
    Collectives collectives(world, mesh, manifest);
    auto ready = collectives.prepare(program, map, instruction, nullptr);
    ASSERT_TRUE(ready.ok()) << ready.status().message();
    Status status = (*ready)->run();
    ASSERT_TRUE(status.ok()) << status.message();
    auto *found = static_cast<float *>(
        map.address(instruction.collective().destination()));
    const std::vector<float> &expected = GetParam().expected[world.rank()];
    for (size_t i = 0; i < expected.size(); ++i)
      if (expected[i] >= 0) {
        EXPECT_EQ(found[i], expected[i])
            << "rank " << world.rank() << ", element " << i;
      }
    sent[world.rank()] = collectives.sentBytes();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  plan::Manifest manifest;
  uint64_t sent[kRanks] = {};
};

// Tests that every rank gets what NCCL says, and sends what was planned.
TEST_P(CollectiveTest, ReachesTheRanks) {
  Result<Mesh> mesh = Mesh::of(manifest);
  ASSERT_TRUE(mesh.ok());
  const plan::CollectiveCall &call =
      manifest.roles(0).programs(0).instructions(0).collective();
  Status sound = verifyCollective(manifest.roles(0).programs(0), call, *mesh);
  ASSERT_TRUE(sound.ok()) << sound.message();
  auto worlds = createInProcessRanks(kRanks);
  std::vector<std::thread> threads;
  for (auto &world : worlds)
    threads.emplace_back([&] { run(*world, *mesh); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(*std::max_element(sent, sent + kRanks), call.sent_bytes());
}

const Case kCases[] = {
    {"all_reduce", "", 2, 2, {{60, 64}, {60, 64}, {60, 64}, {60, 64}}},
    {"all_gather",
     "",
     1,
     4,
     {{0, 10, 20, 30}, {0, 10, 20, 30}, {0, 10, 20, 30}, {0, 10, 20, 30}}},
    {"reduce_scatter", "", 4, 1, {{60}, {64}, {68}, {72}}},
    {"all_to_all",
     "",
     4,
     4,
     {{0, 10, 20, 30}, {1, 11, 21, 31}, {2, 12, 22, 32}, {3, 13, 23, 33}}},
    {"broadcast",
     "root = 2 : i64",
     2,
     2,
     {{20, 21}, {20, 21}, {20, 21}, {20, 21}}},
    {"reduce", "root = 1 : i64", 2, 2, {{-1}, {60, 64}, {-1}, {-1}}},
    {"gather", "root = 3 : i64", 1, 4, {{-1}, {-1}, {-1}, {0, 10, 20, 30}}},
    {"scatter", "root = 1 : i64", 4, 1, {{10}, {11}, {12}, {13}}},
    {"send_receive",
     "shift = 1 : i64",
     2,
     2,
     {{30, 31}, {0, 1}, {10, 11}, {20, 21}}},
    {"send_receive",
     "shift = -1 : i64",
     2,
     2,
     {{10, 11}, {20, 21}, {30, 31}, {0, 1}}},
};

INSTANTIATE_TEST_SUITE_P(Kinds, CollectiveTest, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return info.param.kind + std::to_string(info.index);
                         });

} // namespace
} // namespace zc
