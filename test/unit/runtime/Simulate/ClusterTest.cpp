#include "runtime/Simulate/Cluster.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

constexpr const char *kSmall = R"({
  "name": "two", "device": {"name": "d", "memory_bytes_per_s": 1e9,
    "flops_per_s": {"f32": 1e12}},
  "levels": [{"name": "a", "size": 4, "bytes_per_s": 8e9, "latency_s": 1e-6},
             {"name": "b", "size": 16, "bytes_per_s": 2e9, "latency_s": 2e-6,
              "links_per_block": 2, "oversubscription": 5}]})";

std::string complain(const std::string &from, const std::string &to) {
  std::string text = kSmall;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Result<Cluster> cluster = Cluster::parse(text, "c.json");
  EXPECT_FALSE(cluster.ok()) << text;
  return cluster.ok() ? "" : cluster.status().message();
}

TEST(Cluster, LinksOfABlockAreShared) {
  Result<Cluster> cluster = Cluster::parse(kSmall, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->size(), 16);
  // 2 links of 2e9 for 4 devices, of which the switch passes a fifth on.
  EXPECT_DOUBLE_EQ(cluster->levels[1].bytesPerSecond, 2e9 * 2 / 4 / 5);
  // Alone, a device has what the switch passes on of all links of its block.
  EXPECT_DOUBLE_EQ(cluster->levels[1].aloneBytesPerSecond, 2e9 * 2 / 5);
  EXPECT_FALSE(cluster->levels[0].isShared());
}

/// A device has no more than one link to itself, or its share of more links
/// than devices.
TEST(Cluster, ADeviceAloneHasALink) {
  auto aloneWith = [](const std::string &links) {
    std::string text = kSmall;
    text.replace(text.find("2, \"oversubscription\": 5"), 24, links);
    Result<Cluster> cluster = Cluster::parse(text, "c.json");
    EXPECT_TRUE(cluster.ok()) << cluster.status().message();
    return cluster->levels[1].aloneBytesPerSecond;
  };
  EXPECT_DOUBLE_EQ(aloneWith("2"), 2e9);
  EXPECT_DOUBLE_EQ(aloneWith("4"), 2e9);
  EXPECT_DOUBLE_EQ(aloneWith("8"), 4e9);
}

TEST(Cluster, EveryPresetIsSound) {
  EXPECT_GE(listPresets().size(), 2u);
  for (const std::string &name : listPresets()) {
    Result<Cluster> cluster = Cluster::parse(findPreset(name), name);
    EXPECT_TRUE(cluster.ok()) << cluster.status().message();
    if (cluster.ok()) {
      EXPECT_EQ(cluster->name, name);
    }
  }
  EXPECT_EQ(findPreset("h100"), nullptr);
}

TEST(Cluster, BlocksOf8BitFloatsHaveOneSize) {
  EXPECT_EQ(
      complain("\"flops_per_s\"", "\"f8_block\": 64, \"flops_per_s\""),
      "c.json: device.f8_block: expected 128, found 64; leave it out where "
      "the device has no products of blocks of 8-bit floats");
}

constexpr const char *kMeasured = R"({
  "name": "here", "device": {"name": "d", "memory_bytes_per_s": 1e9,
    "flops_per_s": {"f32": 1e12}, "memory_bytes": 8,
    "efficiency": {"matmul": {"measured": [
      {"m": 1, "n": 2, "k": 3, "dtype": "f32", "flops_per_s": 7},
      {"m": 1, "n": 2, "k": 3, "batch": 4, "transposed": "ab", "dtype": "f32",
       "flops_per_s": 9}]}},
    "measured": [{"kind": "kernel", "operators": "train.add", "flops": 10,
                  "bytes": 80, "seconds": 0.5}]},
  "shares": [{"ranks": 2, "device": {"name": "half", "memory_bytes": 4,
     "memory_bytes_per_s": 5e8, "flops_per_s": {"f32": 5e11}}}],
  "levels": [{"name": "a", "size": 4, "bytes_per_s": 8e9, "latency_s": 1e-6}],
  "host": {"bytes_per_s": 3e9, "memory_bytes": 16}})";

std::string complainOfMeasured(const std::string &from, const std::string &to) {
  std::string text = kMeasured;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Result<Cluster> cluster = Cluster::parse(text, "c.json");
  EXPECT_FALSE(cluster.ok()) << text;
  return cluster.ok() ? "" : cluster.status().message();
}

TEST(Cluster, ProductsAreMeasuredWithTheirForms) {
  Result<Cluster> cluster = Cluster::parse(kMeasured, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const auto &rows = cluster->device.efficiency.matmul.measured.rows(plan::F32);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].batch, 1);
  EXPECT_FALSE(rows[0].transposesA || rows[0].transposesB);
  EXPECT_EQ(rows[1].batch, 4);
  EXPECT_TRUE(rows[1].transposesA && rows[1].transposesB);
  EXPECT_NEAR(*cluster->device.measured.find({"kernel", "train.add", 20, 161}),
              1, 1e-9);
}

TEST(Cluster, FormsAreSizes) {
  const std::string row = R"("seconds": 0.5)";
  EXPECT_EQ(complainOfMeasured(row, row + R"(, "form": [4, 0])"),
            "c.json: device.measured.form: expected a list of integers from 1 "
            "on");
  // Kernels have one size, and calls as many as others of their kind.
  EXPECT_EQ(complainOfMeasured(row, row + R"(, "form": [4, 2])"),
            "c.json: device.measured.form: expected 1 sizes, as instructions "
            "of its kind have, found 2");
  auto call = [](const std::string &form) {
    return R"({"kind": "attention", "operators": "attention", "flops": 10,
               "bytes": 80, "seconds": 2, "form": [)" +
           form + "]}, ";
  };
  const std::string kernel = R"({"kind": "kernel")";
  EXPECT_EQ(
      complainOfMeasured(kernel, call("4, 4, 8, 1") + call("4, 4") + kernel),
      "c.json: device.measured.form: expected 4 sizes, as instructions "
      "of its kind have, found 2");
}

/// Tests which of two attentions of as much work the asked one is alike.
TEST(Cluster, FormsAreRead) {
  std::string text = kMeasured;
  const std::string kernel = R"({"kind": "kernel")";
  for (const char *row : {R"("seconds": 2, "form": [4, 4, 8, 1])",
                          R"("seconds": 8, "form": [64, 64, 8, 2])"})
    text.replace(text.find(kernel), 0,
                 std::string(R"({"kind": "attention", "operators": "a",
                                 "flops": 100, "bytes": 100, )") +
                     row + "}, ");
  Result<Cluster> cluster = Cluster::parse(text, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const MeasuredTimes &times = cluster->device.measured;
  EXPECT_NEAR(*times.find({"attention", "a", 100, 100, 0, {4, 4, 8, 1}}), 2,
              1e-2);
  EXPECT_NEAR(*times.find({"attention", "a", 100, 100, 0, {64, 64, 8, 2}}), 8,
              1e-2);
}

TEST(Cluster, CollectivesAreMeasured) {
  const std::string host = R"("host":)";
  auto with = [&](const std::string &kind) {
    return R"("collectives": {"measured": [{"kind": ")" + kind +
           R"(", "ranks": 2, "bytes": 1024, "seconds": 1e-5}]}, )" + host;
  };
  EXPECT_EQ(complainOfMeasured(host, with("gossip")),
            "c.json: collectives.measured.kind: expected all_reduce, "
            "all_gather, reduce_scatter or message");
}

std::string complainOfProtocol(const std::string &protocols) {
  const std::string host = R"("host":)";
  return complainOfMeasured(host, R"("collectives": {"protocols": [)" +
                                      protocols + "]}, " + host);
}

TEST(Cluster, ProtocolsAreOfTheirAlgorithms) {
  EXPECT_EQ(complainOfProtocol(R"({"name": "ll", "algorithm": "tree",
      "latency_s": [1], "bandwidth_share": [1]})"),
            "c.json: collectives.protocols.algorithm: expected one of "
            "collectives.algorithms, found 'tree'");
  const std::string ring = R"({"name": "ll", "algorithm": "ring",
      "latency_s": [1], "bandwidth_share": [1])";
  EXPECT_EQ(complainOfProtocol(ring + "}, " + ring + "}"),
            "c.json: collectives.protocols.name: 'll' of ring is there twice");
  EXPECT_EQ(complainOfProtocol(ring + R"(, "latency_us": 1})"),
            "c.json: collectives.protocols.latency_us: unknown key; there are "
            "algorithm, bandwidth_share, latency_s, name, start_s");
}

/// Every level has a latency and a share.
TEST(Cluster, ProtocolsHaveEveryLevel) {
  EXPECT_EQ(complainOfProtocol(R"({"name": "ll", "algorithm": "ring",
      "latency_s": [1, 2], "bandwidth_share": [1]})"),
            "c.json: collectives.protocols.latency_s: expected a list of 1 "
            "numbers from 0 to 1000, found [1,2]");
  EXPECT_EQ(complainOfProtocol(R"({"name": "ll", "algorithm": "ring",
      "latency_s": [1], "bandwidth_share": [0]})"),
            "c.json: collectives.protocols.bandwidth_share: expected a list of "
            "1 numbers from 1e-06 to 1, found [0]");
  EXPECT_EQ(complainOfProtocol(R"({"name": "ll", "algorithm": "ring",
      "latency_s": 1, "bandwidth_share": [1]})"),
            "c.json: collectives.protocols.latency_s: expected a list");
}

/// Rows come in any order; a small one that took longer than a larger one was
/// disturbed.
TEST(Cluster, MeasuredCollectivesAscend) {
  std::string text = kMeasured;
  text.insert(text.find(R"("host":)"), R"("collectives": {"measured": [
    {"kind": "message", "ranks": 2, "bytes": 4096, "seconds": 3},
    {"kind": "all_reduce", "ranks": 2, "bytes": 4096, "seconds": 2},
    {"kind": "message", "ranks": 2, "bytes": 16384, "seconds": 4},
    {"kind": "message", "ranks": 4, "bytes": 65536, "seconds": 1},
    {"kind": "message", "ranks": 2, "bytes": 1024, "seconds": 9}]},)");
  Result<Cluster> cluster = Cluster::parse(text, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const std::vector<MeasuredCollective> &rows = cluster->measuredCollectives;
  ASSERT_EQ(rows.size(), 5u);
  std::vector<double> messages;
  for (const MeasuredCollective &row : rows)
    if (row.kind == plan::SEND_RECEIVE)
      messages.push_back(row.seconds);
  EXPECT_EQ(messages, (std::vector<double>{3, 3, 4, 1}));
}

TEST(Cluster, RanksShareTheHost) {
  Result<Cluster> cluster = Cluster::parse(kMeasured, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->sharedBy(1).device.name, "d");
  EXPECT_EQ(cluster->sharedBy(2).device.name, "half");
  EXPECT_EQ(cluster->sharedBy(4).device.memoryBytes, 4u);
  EXPECT_EQ(cluster->sharedBy(2).device.hostBytesPerSecond, 3e9);
  EXPECT_EQ(cluster->sharedBy(2).hostMemoryBytes, 16u);
}

TEST(Cluster, WhatIsWrongWithMeasurementsIsNamed) {
  EXPECT_EQ(complainOfMeasured(R"("ranks": 2)", R"("ranks": 1)"),
            "c.json: shares[0].ranks: expected a whole number of at least 2, "
            "found 1");
  EXPECT_EQ(complainOfMeasured(R"("ranks": 2)", R"("rank": 2)"),
            "c.json: shares[0].ranks: is missing");
  EXPECT_EQ(complainOfMeasured(R"({"name": "half",)", R"({"name": "half",
             "threads": 1,)")
                .substr(0, 51),
            "c.json: shares[0].device.threads: unknown key; ther");
  EXPECT_EQ(complainOfMeasured(R"("transposed": "ab")", R"("transposed": "c")"),
            "c.json: device.efficiency.matmul.measured.transposed: expected "
            "none, a, b or ab");
  EXPECT_EQ(complainOfMeasured(R"("batch": 4)", R"("batch": 0)").substr(0, 55),
            "c.json: device.efficiency.matmul.measured.batch: expect");
  EXPECT_EQ(complainOfMeasured(R"("seconds": 0.5)", R"("s": 0.5)"),
            "c.json: device.measured.seconds: is missing");
  EXPECT_EQ(complainOfMeasured(R"("kind": "kernel")", R"("kind": 3)"),
            "c.json: device.measured.kind: expected a text");
  EXPECT_EQ(complainOfMeasured(R"("operators")", R"("op": 1, "operators")")
                .substr(0, 39),
            "c.json: device.measured.op: unknown key");
}

TEST(Cluster, DevicesAndRoomForRanks) {
  Result<Cluster> cluster = Cluster::parse(kSmall, "c.json");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->nodesOf(1), 1);
  EXPECT_EQ(cluster->nodesOf(4), 1);
  EXPECT_EQ(cluster->nodesOf(5), 2);
  EXPECT_TRUE(cluster->checkRoom(16).ok());
  EXPECT_EQ(cluster->checkRoom(17).message(),
            "cluster 'two' has room for 16 ranks, fewer than 17");
  EXPECT_TRUE(cluster->checkDevices("cpu").ok());
  EXPECT_EQ(cluster->checkDevices("cuda").message(),
            "cluster 'two' has devices of kind 'cpu', not 'cuda'");
}

TEST(Cluster, WhatIsWrongIsNamed) {
  EXPECT_EQ(complain("{", "["), "c.json: is no JSON");
  EXPECT_EQ(complain(R"("name": "two")", R"("name": 2)"),
            "c.json.name: expected a text");
  EXPECT_EQ(complain(R"("f32": 1e12)", R"("f64": 1e12)"),
            "c.json: device.flops_per_s.f32: is missing");
  EXPECT_EQ(complain(R"("latency_s": 1e-6)", R"("latency_s": -1)"),
            "c.json: levels[0].latency_s: expected a number from 0 to 1000, "
            "found -1");
  EXPECT_EQ(complain(R"("latency_s": 2e-6)", R"("latency": 2e-6)"),
            "c.json: levels[1].latency_s: is missing");
  EXPECT_EQ(complain(R"("links_per_block": 2)", R"("links": 2)"),
            "c.json: levels[1].links: unknown key; there are bytes_per_s, "
            "latency_s, links_per_block, name, oversubscription, size");
  EXPECT_EQ(complain(R"("size": 16)", R"("size": 6)"),
            "c.json: levels[1].size: is no multiple of the level's below, 4");
}

} // namespace
} // namespace zc
