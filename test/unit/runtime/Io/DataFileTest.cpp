#include "runtime/Io/DataFile.h"
#include "runtime/Plan/ZipWriter.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace zc {
namespace {

using namespace test;

float first(const DataFile &data, const std::string &name) {
  float value = 0;
  std::memcpy(&value, data.arrays().at(name).data.data(), sizeof(value));
  return value;
}

TEST(DataFile, TakesTheArraysOfAFolderAlone) {
  TemporaryFolder folder;
  writeNpy(folder.path("x.npy"), {2, 1}, std::vector<float>{4, 5});
  writeNpy(folder.path("a.b.npy"), {1}, std::vector<float>{6});
  writeWhole(folder.path("notes.txt"), "no array");
  writeWhole(folder.path(".npy"), "no name");
  auto data = DataFile::open(folder.path());
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->arrays().size(), 2u);
  EXPECT_EQ(first(*data, "x"), 4.0f);
  EXPECT_EQ(first(*data, "a.b"), 6.0f);
  EXPECT_EQ(data->arrays().at("x").dims, (std::vector<int64_t>{2, 1}));
}

TEST(DataFile, ArraysOfAnArchiveOutliveItsReader) {
  TemporaryFolder folder;
  writeNpy(folder.path("x.npy"), {3}, std::vector<float>{7, 8, 9});
  {
    auto zip = ZipWriter::create(folder.path("d.npz"));
    ASSERT_TRUE(zip.ok());
    ASSERT_TRUE(zip->addBytes("x.npy", readWhole(folder.path("x.npy"))).ok());
    ASSERT_TRUE(zip->addBytes("other", "no array").ok());
    ASSERT_TRUE(zip->finish().ok());
  }
  auto data = DataFile::open(folder.path("d.npz"));
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::filesystem::remove(folder.path("d.npz"));
  ASSERT_EQ(data->arrays().size(), 1u);
  EXPECT_EQ(first(*data, "x"), 7.0f);
}

TEST(DataFile, SingleFilesHaveTheNamesTheyAreGiven) {
  TemporaryFolder folder;
  writeNpy(folder.path("some.npy"), {1}, std::vector<float>{1});
  auto data = DataFile::openArrays({{"x", folder.path("some.npy")}});
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(first(*data, "x"), 1.0f);
}

TEST(DataFile, NamesTheFileThatIsBad) {
  TemporaryFolder folder;
  writeWhole(folder.path("x.npy"), "no array");
  auto message = [](const Result<DataFile> &data) {
    return data.ok() ? "" : data.status().message();
  };
  EXPECT_NE(message(DataFile::open(folder.path())).find("x.npy"),
            std::string::npos);
  EXPECT_NE(message(DataFile::openArrays({{"x", folder.path("x.npy")}}))
                .find("x.npy"),
            std::string::npos);
  EXPECT_NE(message(DataFile::open(folder.path("x.npy"))).find("x.npy"),
            std::string::npos);
  EXPECT_NE(message(DataFile::open(folder.path("none.npz"))).find("none.npz"),
            std::string::npos);
  auto zip = ZipWriter::create(folder.path("d.npz"));
  ASSERT_TRUE(zip->addBytes("y.npy", "no array").ok());
  ASSERT_TRUE(zip->finish().ok());
  EXPECT_NE(message(DataFile::open(folder.path("d.npz"))).find("entry 'y.npy'"),
            std::string::npos);
}

} // namespace
} // namespace zc
