#include "runtime/Simulate/SharedLinks.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

/// Ends the transfer that is next, which must be `id`; says when.
double endNext(SharedLinks &links, SharedLinks::Id id) {
  SharedLinks::Id ended = 99;
  double time = 0;
  EXPECT_TRUE(links.next(ended, time));
  EXPECT_EQ(ended, id);
  links.end(time, ended);
  return time;
}

TEST(SharedLinks, TwoShareALink) {
  SharedLinks links;
  const size_t link = links.addLink(10), other = links.addLink(10);
  const auto a = links.begin(0, {{link, 100}});
  const auto b = links.begin(5, {{link, 100}});
  const auto c = links.begin(5, {{other, 60}});
  // a has 50 left at 5, at half the rate; c is alone.
  EXPECT_DOUBLE_EQ(endNext(links, c), 11);
  EXPECT_DOUBLE_EQ(endNext(links, a), 15);
  EXPECT_DOUBLE_EQ(endNext(links, b), 20);
  EXPECT_TRUE(links.isIdle());
}

TEST(SharedLinks, WhatOneLeavesTheOtherTakes) {
  SharedLinks links;
  const size_t fast = links.addLink(10), slow = links.addLink(1);
  // a is bound by the slow link: a tenth of the fast one is left to it.
  const auto a = links.begin(0, {{fast, 10}, {slow, 10}});
  const auto b = links.begin(0, {{fast, 81}});
  EXPECT_DOUBLE_EQ(endNext(links, b), 9);
  EXPECT_DOUBLE_EQ(endNext(links, a), 10);
}

/// Three ranks of one role and one of another share a node's link alike.
TEST(SharedLinks, RanksShareALinkAlike) {
  SharedLinks links;
  const size_t node = links.addLink(4), own = links.addLink(10),
               others = links.addLink(10);
  const auto a = links.begin(0, {{own, 10}, {node, 10, 3}});
  const auto b = links.begin(0, {{others, 10}, {node, 10, 1}});
  EXPECT_DOUBLE_EQ(endNext(links, a), 10);
  EXPECT_DOUBLE_EQ(endNext(links, b), 10);
}

TEST(SharedLinks, LinksWithoutLimitTakeNoTime) {
  SharedLinks links;
  const size_t link = links.addLink(0);
  const auto a = links.begin(3, {{link, 1e30}});
  EXPECT_DOUBLE_EQ(endNext(links, a), 3);
}

} // namespace
} // namespace zc
