#include "runtime/Plan/ZipReader.h"
#include "runtime/Plan/ZipWriter.h"
#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <zlib.h>

namespace zc {
namespace {

using namespace test;

void writeTwoEntries(const std::string &path) {
  auto zip = ZipWriter::create(path);
  ASSERT_TRUE(zip.ok());
  ASSERT_TRUE(zip->addBytes("a", "alpha").ok());
  ASSERT_TRUE(zip->beginEntry("folder/b", 6).ok());
  ASSERT_TRUE(zip->write("be", 2).ok());
  ASSERT_TRUE(zip->write("ta!!", 4).ok());
  ASSERT_TRUE(zip->endEntry().ok());
  ASSERT_TRUE(zip->addBytes("empty", "").ok());
  ASSERT_TRUE(zip->finish().ok());
}

TEST(Zip, ReadsWhatItWrote) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("z"));
  auto zip = ZipReader::open(folder.path("z"));
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  ASSERT_EQ(zip->entries().size(), 3u);
  EXPECT_EQ(*zip->view(*zip->find("a")), "alpha");
  EXPECT_EQ(*zip->read(*zip->find("folder/b")), "beta!!");
  EXPECT_EQ(*zip->view(*zip->find("empty")), "");
  EXPECT_EQ(zip->find("c"), nullptr);
}

TEST(Zip, EntriesAreAligned) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("z"));
  auto zip = ZipReader::open(folder.path("z"));
  auto file = MappedFile::open(folder.path("z"));
  std::string bytes((*file)->bytes());
  EXPECT_EQ(bytes.find("alpha") % 64, 0u);
  EXPECT_EQ(bytes.find("beta!!") % 64, 0u);
}

TEST(Zip, EqualInputGivesEqualBytes) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("1"));
  writeTwoEntries(folder.path("2"));
  EXPECT_EQ(readWhole(folder.path("1")), readWhole(folder.path("2")));
}

TEST(Zip, AnUnfinishedArchiveLeavesNothing) {
  TemporaryFolder folder;
  {
    auto zip = ZipWriter::create(folder.path("z"));
    ASSERT_TRUE(zip->addBytes("a", "alpha").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Zip, EveryFlippedByteOfDataIsNoticed) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("z"));
  std::string bytes = readWhole(folder.path("z"));
  bytes[bytes.find("alpha") + 2] ^= 1;
  writeWhole(folder.path("z"), bytes);
  auto zip = ZipReader::open(folder.path("z"));
  ASSERT_TRUE(zip.ok());
  auto view = zip->view(*zip->find("a"));
  EXPECT_EQ(view.status().code(), StatusCode::Corrupt);
  EXPECT_NE(view.status().message().find("'a'"), std::string::npos);
}

TEST(Zip, NoTruncationIsTakenForAWhole) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("z"));
  std::string bytes = readWhole(folder.path("z"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    writeWhole(folder.path("cut"), bytes.substr(0, size));
    EXPECT_FALSE(ZipReader::open(folder.path("cut")).ok()) << size;
  }
}

TEST(Zip, NoFlippedByteCrashesTheReader) {
  TemporaryFolder folder;
  writeTwoEntries(folder.path("z"));
  const std::string bytes = readWhole(folder.path("z"));
  for (size_t at = 0; at < bytes.size(); ++at)
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] ^= flip;
      writeWhole(folder.path("bad"), damaged);
      auto zip = ZipReader::open(folder.path("bad"));
      if (!zip.ok())
        continue;
      for (const ZipEntry &entry : zip->entries())
        (void)zip->read(entry).ok();
    }
}

/// A deflated entry as Python's zipfile writes it, put together by hand.
std::string deflatedZip(const std::string &name, const std::string &content) {
  std::string packed(content.size() + 100, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = content.size();
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = packed.size();
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  auto number = [](uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
    return out;
  };
  uLong crc =
      crc32(0, reinterpret_cast<const Bytef *>(content.data()), content.size());
  std::string common = number(20, 2) + number(0, 2) + number(8, 2) +
                       number(0, 4) + number(crc, 4) +
                       number(packed.size(), 4) + number(content.size(), 4) +
                       number(name.size(), 2) + number(0, 2);
  std::string local = "PK\x03\x04" + common + name + packed;
  std::string central = "PK\x01\x02" + number(20, 2) + common + number(0, 10) +
                        number(0, 4) + name;
  return local + central + "PK\x05\x06" + number(0, 4) + number(1, 2) +
         number(1, 2) + number(central.size(), 4) + number(local.size(), 4) +
         number(0, 2);
}

TEST(Zip, ReadsDeflatedEntries) {
  TemporaryFolder folder;
  std::string content(100000, 'x');
  writeWhole(folder.path("z"), deflatedZip("x.npy", content));
  auto zip = ZipReader::open(folder.path("z"));
  ASSERT_TRUE(zip.ok()) << zip.status().message();
  auto bytes = zip->read(*zip->find("x.npy"));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(*bytes, content);
  EXPECT_FALSE(zip->view(*zip->find("x.npy")).ok());
}

TEST(Zip, NoFlippedByteCrashesInflating) {
  TemporaryFolder folder;
  const std::string bytes = deflatedZip("x", "some text, some more text");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= 0x55;
    writeWhole(folder.path("bad"), damaged);
    auto zip = ZipReader::open(folder.path("bad"));
    if (zip.ok() && !zip->entries().empty())
      (void)zip->read(zip->entries()[0]).ok();
  }
}

} // namespace
} // namespace zc
