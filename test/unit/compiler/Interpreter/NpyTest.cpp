//===- NpyTest.cpp - NumPy's files ----------------------------------------===//
#include "compiler/Interpreter/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

namespace zc::interpreter {
namespace {

class NpyTest : public testing::Test {
protected:
  NpyTest() { llvm::sys::fs::createTemporaryFile("npy", "npy", path); }
  ~NpyTest() override { llvm::sys::fs::remove(path); }

  /// A file of format 1.0 with this header and data.
  void write(const std::string &header, const std::string &data) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    os << "\x93NUMPY\x01" << '\0' << char(header.size()) << '\0' << header
       << data;
  }
  static std::string header(const std::string &type, const std::string &shape,
                            const std::string &order = "False") {
    return "{'descr': '" + type + "', 'fortran_order': " + order +
           ", 'shape': " + shape + ", }\n";
  }
  void expectError(const std::string &expected) {
    llvm::Expected<Tensor> tensor = readNpy(path);
    ASSERT_FALSE(static_cast<bool>(tensor));
    EXPECT_EQ(llvm::toString(tensor.takeError()),
              (path + ": " + expected).str());
  }

  llvm::SmallString<128> path;
};

// Tests that what is written is read again.
TEST_F(NpyTest, RoundTrips) {
  for (const Tensor &tensor :
       {Tensor::ofFloats({2, 3}, {0.1, -2, 3e300, 4, 5, -0.0}),
        Tensor::ofIntegers({2}, {INT64_MIN, 7}), Tensor::ofFloats({}, {0.5}),
        Tensor::ofIntegers({0, 4}, {})}) {
    ASSERT_FALSE(static_cast<bool>(writeNpy(path, tensor)));
    llvm::Expected<Tensor> read = readNpy(path);
    ASSERT_TRUE(static_cast<bool>(read));
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(read->floats, tensor.floats);
    EXPECT_EQ(read->integers, tensor.integers);
  }
}

// Tests elements of other types than are written.
TEST_F(NpyTest, ReadsSmallTypes) {
  write(header("<f4", "(1,)"), std::string("\0\0\xc0\x3f", 4));
  EXPECT_EQ(llvm::cantFail(readNpy(path)).floats, std::vector<double>{1.5});
  write(header("<i2", "(2,)"), std::string("\xfe\xff\x03\0", 4));
  EXPECT_EQ(llvm::cantFail(readNpy(path)).integers,
            (std::vector<int64_t>{-2, 3}));
  write(header("|u1", "(1, 2)"), "\xfe\x03");
  EXPECT_EQ(llvm::cantFail(readNpy(path)).integers,
            (std::vector<int64_t>{254, 3}));
  write(header("|b1", "()"), "\x01");
  EXPECT_EQ(llvm::cantFail(readNpy(path)).integers, std::vector<int64_t>{1});
}

// Tests files that are something else, or damaged.
TEST_F(NpyTest, RefusesBadFiles) {
  expectError("is not a .npy file"); // empty
  write(header("<f4", "(2,)"), "1234");
  expectError("has 4 bytes of data, expected 2 elements of 4");
  write(header("<f4", "(99999999999, 99999999999, 99999999999)"), "1234");
  expectError(
      "has 4 bytes of data, expected 18446744073709551615 elements of 4");
  write(header("<f4", "(-1,)"), "1234");
  expectError("has a damaged shape");
  write(header("<f4", "(1,)", "True"), "1234");
  expectError("is not in C order");
  write(header(">f4", "(1,)"), "1234");
  expectError("has elements of type '>f4', expected floats of 2, 4 or 8 bytes, "
              "integers or booleans");
  write(header("<f1", "(4,)"), "1234");
  expectError("has elements of type '<f1', expected floats of 2, 4 or 8 bytes, "
              "integers or booleans");
}

// Tests a file that is cut off in its header.
TEST_F(NpyTest, RefusesTruncatedFiles) {
  std::error_code code;
  {
    llvm::raw_fd_ostream os(path, code);
    os << "\x93NUMPY\x01" << '\0' << 'v' << '\0' << "{'descr': '<f4'";
  }
  expectError("has a damaged header");
}

// Tests files that cannot be opened.
TEST_F(NpyTest, NamesMissingFiles) {
  llvm::Expected<Tensor> tensor = readNpy("no/such/file.npy");
  ASSERT_FALSE(static_cast<bool>(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "no/such/file.npy: No such file or directory");
  llvm::Error error = writeNpy("no/such/file.npy", Tensor::ofFloats({}, {1}));
  EXPECT_EQ(llvm::toString(std::move(error)),
            "no/such/file.npy: No such file or directory");
}

} // namespace
} // namespace zc::interpreter
