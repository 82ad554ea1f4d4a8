// Whatever bytes an artifact holds, loading and preparing it ends in a message
// or in a program that runs.
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Exec/Executor.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace zc {
namespace {

using namespace test;

/// Does what zc-run does before the first step.
Status loadAndPrepare(const std::string &path) {
  ZC_ASSIGN_OR_RETURN(Artifact artifact, Artifact::load(path));
  auto device = cpu::createCpuDevice({});
  ZC_ASSIGN_OR_RETURN(
      auto executor,
      Executor::prepare(*device, artifact, {"init", "step", "eval"}));
  return executor->initialise();
}

class ArtifactBytes : public ::testing::Test {
protected:
  void SetUp() override {
    writeArtifact(path, tinyManifest());
    bytes = readWhole(path);
  }
  TemporaryFolder folder;
  std::string path = folder.path("a.zca"), bytes;
};

TEST_F(ArtifactBytes, TheSoundOneRuns) {
  Status status = loadAndPrepare(path);
  EXPECT_TRUE(status.ok()) << status.message();
}

/// A manifest as zc wrote it with format version 2: a step of one product
/// [256, 1024] x [1024, 512], whose dims are no text in today's schema.
constexpr std::string_view kVersion2 =
    "08021205302e312e301a05747261696e220974696e792e6f6e6e782a1d0a0363"
    "707510021a140a0c636f64652f74696e792e736f120474696e794804ca024812"
    "460a0473746570323e122b0a0b1204800280081a03800801120d080112048008"
    "80041a038004011a0d08021204800280041a03800401520f747261696e2e6d61"
    "746d756c206663";

TEST_F(ArtifactBytes, OnesOfAnOldFormatAreToBeCompiledAgain) {
  std::string manifest;
  for (size_t i = 0; i < kVersion2.size(); i += 2)
    manifest += char(std::stoi(std::string(kVersion2.substr(i, 2)), nullptr,
                               /*base=*/16));
  writeArtifact(path, manifest);
  const std::string message = loadAndPrepare(path).message();
  EXPECT_NE(message.find("format version 2; this program reads version 3; "
                         "compile the model again"),
            std::string::npos)
      << message;
}

TEST_F(ArtifactBytes, RandomFlipsEndInAMessage) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = bytes;
    for (int flips = 1 + int(random() % 3); flips > 0; --flips)
      damaged[random() % damaged.size()] ^= char(1 + random() % 255);
    writeWhole(path, damaged);
    Status status = loadAndPrepare(path);
    EXPECT_TRUE(status.ok() || !status.message().empty());
  }
}

TEST_F(ArtifactBytes, EveryTruncationEndsInAMessage) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    writeWhole(path, bytes.substr(0, random() % bytes.size()));
    EXPECT_FALSE(loadAndPrepare(path).ok());
  }
}

TEST_F(ArtifactBytes, RandomBytesEndInAMessage) {
  std::mt19937 random(3);
  for (size_t size : {0, 1, 22, 100, 10000}) {
    std::string noise(size, '\0');
    for (char &byte : noise)
      byte = char(random());
    writeWhole(path, noise);
    EXPECT_FALSE(loadAndPrepare(path).ok());
  }
}

// The checksums hold here, so that the manifest's own checks are what stands
// between damage and a crash. Kernels are trusted with their buffers, so none
// runs.
TEST_F(ArtifactBytes, AnyManifestEndsInAMessage) {
  std::mt19937 random(4);
  const std::string sound = tinyManifest().SerializeAsString();
  auto device = cpu::createCpuDevice({});
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = sound;
    for (int flips = 1 + int(random() % 2); flips > 0; --flips)
      damaged[random() % damaged.size()] = char(random());
    writeArtifact(path, damaged);
    auto artifact = Artifact::load(path);
    if (!artifact.ok() ||
        artifact->manifest().roles(0).persistent_bytes() > 1 << 20)
      continue;
    (void)Executor::prepare(*device, *artifact, {"init", "step", "eval"}).ok();
  }
}

// --trust needs it: the owner may write over the open file.
TEST_F(ArtifactBytes, ACopyStaysAsItWas) {
  auto copied = Artifact::load(path, /*checkWeights=*/true, Reading::Copied);
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(bytes.size(), 'x');
  }
  const ZipReader &archive = copied->archive();
  EXPECT_EQ(archive.bytes(), bytes);
  archive.release(archive.bytes());
  EXPECT_EQ(archive.bytes(), bytes);
  std::filesystem::resize_file(path, 1);
  EXPECT_EQ(archive.bytes(), bytes);
}

TEST_F(ArtifactBytes, MissingPartsAreNamed) {
  EXPECT_NE(Artifact::load(folder.path("no")).status().message().find("no"),
            std::string::npos);
  plan::Manifest manifest = tinyManifest();
  manifest.mutable_roles(0)->mutable_states(0)->mutable_source()->set_key(
      "other");
  writeArtifact(path, manifest);
  EXPECT_NE(Artifact::load(path).status().message().find("weights of 'w'"),
            std::string::npos);
  manifest = tinyManifest();
  manifest.mutable_roles(0)
      ->mutable_programs(1)
      ->mutable_instructions(1)
      ->mutable_kernel()
      ->set_symbol("nowhere");
  writeArtifact(path, manifest);
  EXPECT_NE(loadAndPrepare(path).message().find("no kernel 'nowhere'"),
            std::string::npos);
}

} // namespace
} // namespace zc
