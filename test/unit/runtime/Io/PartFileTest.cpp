#include "runtime/Io/PartFile.h"

#include "runtime/Base/File.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace zc {
namespace {

class PartFileTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder), nullptr); }
  void TearDown() override {
    ::unlink(path().c_str());
    ::rmdir(folder);
  }
  std::string path() const { return std::string(folder) + "/part"; }

  char folder[32] = "/var/tmp/zc-part-XXXXXX"; // on a disk, if any is there
};

/// Pieces that lie as they do in the file, which go there directly, and others;
/// of sizes with and without a rest.
TEST_F(PartFileTest, WritesWhatItIsGiven) {
  constexpr uint64_t kPage = PartFile::kPage;
  constexpr size_t kLarge = size_t(1) << 20;
  for (const uint64_t offset : {uint64_t(0), kPage, uint64_t(7), 3 * kPage + 9})
    for (const uint64_t behind : {uint64_t(0), offset % kPage, uint64_t(13)})
      for (const size_t size : {size_t(5), kLarge, kLarge + 777}) {
        std::string expected(offset + size + 100, '.');
        ASSERT_TRUE(PartFile::create(path(), "", expected.size()).ok());
        void *memory = nullptr;
        ASSERT_EQ(::posix_memalign(&memory, kPage, 2 * kPage + size), 0);
        char *bytes = static_cast<char *>(memory) + behind;
        for (size_t i = 0; i < size; ++i)
          bytes[i] = char('a' + (i * i + i / 4096) % 26);
        {
          auto file = PartFile::open(path());
          ASSERT_TRUE(file.ok()) << file.status().message();
          EXPECT_TRUE(file->writeAt(offset, bytes, size).ok());
          EXPECT_TRUE(file->writeAt(offset + size, "xyz", 3).ok());
          EXPECT_TRUE(file->sync().ok());
        }
        expected.replace(0, offset, offset, '\0');
        expected.replace(offset, size, bytes, size);
        expected.replace(offset + size, 3, "xyz");
        expected.replace(offset + size + 3, 97, 97, '\0');
        auto found = readFile(path(), expected.size() + 1);
        ASSERT_TRUE(found.ok());
        EXPECT_TRUE(*found == expected)
            << offset << " " << behind << " " << size;
        std::free(memory);
        ::unlink(path().c_str());
      }
}

} // namespace
} // namespace zc
