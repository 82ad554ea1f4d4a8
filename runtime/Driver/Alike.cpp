#include "runtime/Driver/Alike.h"
#include "runtime/Base/Hash.h"

#include <algorithm>
#include <cstdio>

namespace zc {

// So little is read of data that lie far away.
static constexpr size_t kBlock = 4096, kBlocks = 64;

/// Hashes blocks spread over all of the bytes, the last one included.
static uint64_t hashSample(std::string_view bytes) {
  if (bytes.size() <= kBlock * kBlocks)
    return hashBytes(bytes);
  std::string hashes;
  for (size_t i = 0; i < kBlocks; ++i) {
    size_t at =
        size_t((bytes.size() - kBlock) * (long double)i / (kBlocks - 1));
    uint64_t hash = hashBytes(bytes.substr(at, kBlock));
    hashes.append(reinterpret_cast<const char *>(&hash), sizeof(hash));
  }
  return hashBytes(hashes);
}

static std::string printHash(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
  return text;
}

static std::string describe(const DataFile &data) {
  std::string text, hashes;
  for (const auto &[name, array] : data.arrays()) {
    text += strCat(text.empty() ? "" : ", ", "'", name, "' ", array.print());
    hashes += printHash(hashSample(array.data));
  }
  int64_t tokens = 0;
  for (const TokenShard &shard : data.tokens()) {
    tokens += shard.count();
    hashes += printHash(hashSample(shard.tokens));
  }
  if (!data.tokens().empty())
    text = strCat(tokens, " tokens of ", data.tokens().front().width * 8,
                  " bits in ", data.tokens().size(), " files");
  return strCat(text, ", contents ", printHash(hashBytes(hashes)));
}

void Alike::addData(const std::string &option, const DataFile *data) {
  if (!data)
    return add(option, "none");
  const std::string text = describe(*data);
  add(option, strCat("'", data->path(), "' (", text, ")"), text);
}

Status Alike::compare(World &world) const {
  const size_t count = items.size();
  std::vector<uint64_t> mine, all(count * size_t(world.size()));
  for (const Item &item : items)
    mine.push_back(hashBytes(item.compared));
  ZC_RETURN_IF_ERROR(
      world.all().allGather(mine.data(), all.data(), count * sizeof(uint64_t)));
  for (int rank = 1; rank < world.size(); ++rank) {
    auto theirs = all.begin() + long(size_t(rank) * count);
    std::vector<uint64_t> hashes(theirs, theirs + long(count));
    if (!std::equal(hashes.begin(), hashes.end(), all.begin()))
      return tellApart(world, rank, all);
  }
  return Status();
}

/// All ranks know who differs in which options; that rank says how.
Status Alike::tellApart(World &world, int other,
                        const std::vector<uint64_t> &hashes) const {
  std::string mine, theirs;
  for (size_t i = 0; i < items.size(); ++i)
    if (hashes[i] != hashes[size_t(other) * items.size() + i])
      mine +=
          strCat(mine.empty() ? "" : " ", items[i].option, " ", items[i].shown);
  theirs = mine;
  int64_t size = int64_t(theirs.size());
  ZC_RETURN_IF_ERROR(world.all().broadcast(&size, sizeof(size), other));
  theirs.resize(size_t(size));
  ZC_RETURN_IF_ERROR(
      world.all().broadcast(theirs.data(), uint64_t(size), other));
  return world.agree(makeError(StatusCode::InvalidArgument, "rank ", other,
                               " was started with ", theirs, ", rank 0 with ",
                               mine,
                               "; start all ranks with the same options and "
                               "the same data"));
}

} // namespace zc
