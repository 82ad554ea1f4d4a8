#include "runtime/Plan/Npy.h"

#include <cstring>
#include <gtest/gtest.h>

namespace zc {
namespace {

/// A .npy file of the given version with the header's text as it stands.
std::string npy(const std::string &header, const std::string &data,
                int version = 1) {
  std::string text = header + "\n";
  std::string file = "\x93NUMPY";
  file += char(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += char(text.size() >> (8 * i));
  return file + text + data;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    auto array = parseNpy(npy(header("<i2", "(3,)"), "abcdef", version), {});
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->kind, 'i');
    EXPECT_EQ(array->itemSize, 2);
    EXPECT_EQ(array->dims, (std::vector<int64_t>{3}));
  }
  EXPECT_FALSE(parseNpy(npy(header("<i2", "()"), "ab", 4), {}).ok());
}

TEST(Npy, ReadsWhatItWrote) {
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{}, {5}, {2, 3}, {0, 4}}) {
    std::string file = makeNpyHeader(plan::F64, dims);
    EXPECT_EQ(file.size() % 64, 0u);
    file += std::string(48, 'x');
    auto array = parseNpy(file, {});
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->dims, dims);
  }
  EXPECT_NE(makeNpyHeader(plan::BOOL, {1}).find("'|b1'"), std::string::npos);
  EXPECT_NE(makeNpyHeader(plan::U16, {1}).find("'<u2'"), std::string::npos);
}

TEST(Npy, TurnsFortranOrderAround) {
  std::string file = npy(header("|u1", "(2, 3)", "True"), "adbecf");
  auto array = parseNpy(file, {});
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->data, "abcdef");
}

TEST(Npy, RefusesWhatItCannotRead) {
  for (const std::string &bad :
       {npy(header(">f4", "(1,)"), "abcd"),
        npy(header("<c8", "(1,)"), "12345678"),
        npy(header("|O", "(1,)"), "12345678"),
        npy(header("<f4", "(2,)"), "abcd"), npy(header("<f4", "(-1,)"), "abcd"),
        npy(header("<f4", "(1,"), "abcd"),
        npy(header("<f4", "(99999999999, 99999999999)"), "abcd"),
        npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "abcd"),
        npy("{'descr': '<f4', 'shape': (1,)}", "abcd"), npy("", ""),
        std::string("\x93NUMPY\x01"), std::string()})
    EXPECT_FALSE(parseNpy(bad, {}).ok()) << bad;
}

TEST(Npy, NoFlippedByteCrashesTheReader) {
  const std::string file = npy(header("<f4", "(2, 1)", "True"), "abcdefgh");
  for (size_t at = 0; at < file.size(); ++at)
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = file;
      damaged[at] ^= char(flip);
      (void)parseNpy(damaged, {}).ok();
    }
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpy(file.substr(0, size), {}).ok());
}

} // namespace
} // namespace zc
