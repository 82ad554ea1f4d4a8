#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/WireRewriter.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace zc;
namespace fs = std::filesystem;

namespace {

/// A model of one tensor, float [4], in weights.bin, which has 20 bytes.
class ExternalDataTest : public ::testing::Test {
protected:
  ExternalDataTest() {
    root = (fs::temp_directory_path() / "zc-external-XXXXXX").string();
    if (!::mkdtemp(root.data()))
      std::abort();
    file.folder = root + "/model";
    file.name = "model.onnx";
    fs::create_directory(file.folder);
    write(file.folder + "/weights.bin", "....ABCDEFGHIJKLMNOP");
    write(root + "/outside.bin", std::string(100, 'x'));
    tensor = file.model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(proto::TensorProto::FLOAT);
    tensor->add_dims(4);
    tensor->set_data_location(proto::TensorProto::EXTERNAL);
    refer({{"location", "weights.bin"}, {"offset", "4"}, {"length", "16"}});
  }
  ~ExternalDataTest() override { fs::remove_all(root); }

  static void write(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void refer(const std::vector<std::pair<std::string, std::string>> &entries) {
    tensor->clear_external_data();
    for (const auto &[key, value] : entries) {
      auto *entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
  /// The message of the check; "" when all is well.
  std::string check() {
    llvm::Error error = checkExternalData(file);
    return error ? llvm::toString(std::move(error)) : "";
  }
  void expectRefused(const std::string &part) {
    std::string message = check();
    EXPECT_NE(message.find(part), std::string::npos)
        << "expected: " << part << "\nfound: " << message;
    EXPECT_NE(message.find("tensor 'w'"), std::string::npos) << message;
  }

  std::string root;
  ModelFile file;
  proto::TensorProto *tensor;
};

TEST_F(ExternalDataTest, ReadsTheBytesThatAreMeant) {
  EXPECT_EQ(check(), "");
  auto bytes = readTensorBytes(file, *tensor);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  EXPECT_EQ(*bytes, "ABCDEFGHIJKLMNOP");
}

TEST_F(ExternalDataTest, OffsetAndLengthMayBeMissing) {
  refer({{"location", "weights.bin"}});
  EXPECT_EQ(check(), "");
  auto bytes = readTensorBytes(file, *tensor);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  EXPECT_EQ(*bytes, "....ABCDEFGHIJKL");
}

TEST_F(ExternalDataTest, MayLieInTheModelItself) {
  write(file.folder + "/model.onnx", std::string(16, 'm'));
  refer({{"location", std::string(kInsideModelFile)},
         {"offset", "0"},
         {"length", "16"}});
  EXPECT_EQ(check(), "");
  auto bytes = readTensorBytes(file, *tensor);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  EXPECT_EQ(*bytes, std::string(16, 'm'));
}

TEST_F(ExternalDataTest, NeverLeavesTheFolder) {
  refer({{"location", root + "/outside.bin"}});
  expectRefused("absolute path");
  refer({{"location", "../outside.bin"}});
  expectRefused("leads outside");
  fs::create_symlink(root + "/outside.bin", file.folder + "/link.bin");
  refer({{"location", "link.bin"}});
  expectRefused("by a symbolic link");
  fs::create_directory(file.folder + "/sub");
  refer({{"location", "sub"}});
  expectRefused("not a regular file");
  refer({{"location", ""}});
  expectRefused("names no file");
  refer({{"location", "none.bin"}});
  expectRefused("'none.bin', with tensor 'w', does not exist");
}

TEST_F(ExternalDataTest, MustLieInsideItsFile) {
  refer({{"location", "weights.bin"}, {"offset", "8"}});
  expectRefused("bytes 8 to 24 of 'weights.bin', which has 20");
  refer({{"location", "weights.bin"}, {"offset", "18446744073709551610"}});
  expectRefused("of 'weights.bin', which has 20");
  refer({{"location", "weights.bin"}, {"offset", "-1"}});
  expectRefused("the offset '-1'");
  refer({{"location", "weights.bin"}, {"length", "12"}});
  expectRefused("has 12 bytes of data, but its type and dims say 16");
}

TEST_F(ExternalDataTest, SizesNeverOverflow) {
  tensor->set_dims(0, int64_t(1) << 62);
  EXPECT_EQ(getTensorBytes(*tensor), std::nullopt);
  expectRefused("dims that external data cannot have");
  tensor->set_dims(0, -4);
  EXPECT_EQ(getTensorBytes(*tensor), std::nullopt);
  tensor->set_dims(0, 4);
  tensor->set_data_type(proto::TensorProto::STRING);
  EXPECT_EQ(getTensorBytes(*tensor), std::nullopt);
}

} // namespace
