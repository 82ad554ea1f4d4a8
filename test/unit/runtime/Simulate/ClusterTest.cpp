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
