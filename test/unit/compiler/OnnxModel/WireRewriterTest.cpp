#include "compiler/OnnxModel/WireRewriter.h"
#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/Proto.h"

#include <gtest/gtest.h>
#include <map>

using namespace zc;

namespace {

proto::TensorProto makeTensor(const std::string &name, size_t bytes) {
  proto::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(proto::TensorProto::UINT8);
  tensor.add_dims(static_cast<int64_t>(bytes));
  tensor.set_raw_data(std::string(bytes, name.back()));
  return tensor;
}

/// Tensors of ten bytes wherever a model can have some, and one of nine.
proto::ModelProto makeModel() {
  proto::ModelProto model;
  model.set_ir_version(10);
  model.set_producer_name("test");
  proto::GraphProto *graph = model.mutable_graph();
  *graph->add_initializer() = makeTensor("large-0", 10);
  *graph->add_initializer() = makeTensor("small-1", 9);
  proto::NodeProto *node = graph->add_node();
  node->set_op_type("If");
  *node->add_attribute()->mutable_t() = makeTensor("large-2", 10);
  *node->add_attribute()->add_tensors() = makeTensor("large-3", 10);
  *node->add_attribute()->mutable_g()->add_initializer() =
      makeTensor("large-4", 10);
  *node->add_attribute()->add_graphs()->add_initializer() =
      makeTensor("large-5", 10);
  *model.add_functions()->add_node()->add_attribute()->mutable_t() =
      makeTensor("large-6", 10);
  return model;
}

proto::ModelProto rewrite(const std::string &file, uint64_t threshold) {
  auto rewritten = referenceLargeTensors(file, threshold);
  proto::ModelProto model;
  EXPECT_TRUE(bool(rewritten)) << llvm::toString(rewritten.takeError());
  if (rewritten)
    EXPECT_TRUE(model.ParseFromString(*rewritten));
  return model;
}

TEST(WireRewriter, RefersToLargeTensorsWhereverTheyAre) {
  const std::string file = makeModel().SerializeAsString();
  proto::ModelProto model = rewrite(file, 9);
  int large = 0;
  forEachTensor(model, [&](proto::TensorProto &tensor) {
    if (tensor.name() == "small-1") {
      EXPECT_EQ(tensor.raw_data(), std::string(9, '1'));
      EXPECT_EQ(tensor.external_data_size(), 0);
      return;
    }
    ++large;
    EXPECT_FALSE(tensor.has_raw_data()) << tensor.name();
    EXPECT_EQ(tensor.data_location(), proto::TensorProto::EXTERNAL);
    std::map<std::string, std::string> entries;
    for (const auto &entry : tensor.external_data())
      entries[entry.key()] = entry.value();
    EXPECT_EQ(entries["location"], kInsideModelFile);
    // The bytes lie in the file where the reference says.
    EXPECT_EQ(file.substr(std::stoull(entries["offset"]),
                          std::stoull(entries["length"])),
              std::string(10, tensor.name().back()));
  });
  EXPECT_EQ(large, 6);
}

TEST(WireRewriter, KeepsAllElse) {
  const proto::ModelProto model = makeModel();
  const std::string file = model.SerializeAsString();
  EXPECT_EQ(rewrite(file, 10).SerializeAsString(), file);
  proto::ModelProto rewritten = rewrite(file, 0);
  EXPECT_EQ(rewritten.producer_name(), "test");
  EXPECT_EQ(rewritten.graph().initializer(0).dims(0), 10);
  EXPECT_EQ(rewritten.graph().node(0).op_type(), "If");
}

TEST(WireRewriter, RefusesWhatIsNoModel) {
  const std::string file = makeModel().SerializeAsString();
  auto refused = [](const std::string &bytes) {
    auto rewritten = referenceLargeTensors(bytes, 0);
    if (rewritten)
      return false;
    return llvm::toString(rewritten.takeError()).find("not an ONNX model") !=
           std::string::npos;
  };
  EXPECT_TRUE(refused(file.substr(0, file.size() - 1)));
  EXPECT_TRUE(refused("\x3a\xff\xff\xff\xff\x0f"));
  EXPECT_TRUE(refused(std::string(20, '\xff')));
}

TEST(WireRewriter, RefusesGraphsWithoutEnd) {
  proto::ModelProto model;
  proto::GraphProto *graph = model.mutable_graph();
  for (int depth = 0; depth < 60; ++depth)
    graph = graph->add_node()->add_attribute()->mutable_g();
  auto rewritten = referenceLargeTensors(model.SerializeAsString(), 0);
  EXPECT_FALSE(bool(rewritten));
  llvm::consumeError(rewritten.takeError());
}

} // namespace
