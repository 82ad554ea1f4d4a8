#include "runtime/Base/Hash.h"

#include <gtest/gtest.h>
#include <string>

namespace zc {
namespace {

// Values of the authors' library.
TEST(HashTest, IsXxh64) {
  EXPECT_EQ(hashBytes(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hashBytes("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hashBytes("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hashBytes("Nobody inspects the spammish repetition"),
            0xfbcea83c8a378bf1u);
}

TEST(HashTest, SeesEveryByte) {
  for (size_t size : {1, 3, 4, 7, 8, 31, 32, 33, 100}) {
    std::string bytes(size, 'x');
    uint64_t before = hashBytes(bytes);
    for (char &byte : bytes) {
      byte = 'y';
      EXPECT_NE(hashBytes(bytes), before);
      byte = 'x';
    }
    EXPECT_NE(hashBytes(bytes + '\0'), before);
  }
}

TEST(HashTest, PiecesAreAsOne) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i)
    bytes += char(i * 7 + i / 13);
  for (size_t piece : {1, 5, 31, 32, 33, 64, 100, 999}) {
    StreamedHash hash;
    for (size_t at = 0; at < bytes.size(); at += piece)
      hash.add(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(hash.value(), hashBytes(bytes)) << piece;
  }
}

} // namespace
} // namespace zc
