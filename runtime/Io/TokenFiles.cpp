#include "runtime/Io/TokenFiles.h"
#include "runtime/Io/DataPaths.h"

#include <algorithm>
#include <cstring>

namespace zc {

namespace {

constexpr std::string_view kSuffix = ".bin";
constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);

/// The two kinds of llm.c's files: of GPT-2's tokens and of Llama 3's.
struct HeaderKind {
  int32_t magic, version;
  int width;
};
constexpr HeaderKind kKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};

/// Takes the header off, where there is one, and finds the tokens' width.
Status readHeader(TokenShard &shard, int bits) {
  shard.width = bits == 0 ? 2 : bits / 8;
  shard.isAssumed = bits == 0;
  int32_t header[3] = {};
  if (shard.tokens.size() >= kHeaderBytes)
    std::memcpy(header, shard.tokens.data(), sizeof(header));
  for (const HeaderKind &kind : kKinds) {
    if (header[0] != kind.magic)
      continue;
    if (header[1] != kind.version)
      return makeError(StatusCode::Unsupported, "'", shard.file->path(),
                       "' is of version ", header[1], "; expected ",
                       kind.version);
    shard.width = kind.width;
    shard.isAssumed = false;
    shard.tokens.remove_prefix(kHeaderBytes);
    if (header[2] < 0 || shard.count() != header[2])
      return makeError(StatusCode::Corrupt, "'", shard.file->path(),
                       "' says that it has ", header[2], " tokens, but ",
                       shard.count(), " follow");
  }
  if (shard.tokens.size() % size_t(shard.width) != 0)
    return makeError(StatusCode::Corrupt, "'", shard.file->path(), "' has ",
                     shard.tokens.size(),
                     " bytes of tokens, not a multiple of ", shard.width);
  return Status();
}

/// Tokens of one file, which have the width of those before.
Status addShard(const std::string &name, int bits,
                std::vector<TokenShard> &shards) {
  TokenShard shard;
  ZC_ASSIGN_OR_RETURN(shard.file, MappedFile::open(name));
  shard.tokens = shard.file->bytes();
  ZC_RETURN_IF_ERROR(readHeader(shard, bits));
  if (!shards.empty() && shards.front().width != shard.width)
    return makeError(StatusCode::InvalidArgument, "'", name, "' has tokens of ",
                     shard.width, " bytes, '", shards.front().file->path(),
                     "' of ", shards.front().width);
  shards.push_back(std::move(shard));
  return Status();
}

} // namespace

bool isTokenPath(const std::string &path) {
  return path.size() > kSuffix.size() &&
         path.compare(path.size() - kSuffix.size(), kSuffix.size(), kSuffix) ==
             0;
}

bool looksTwiceAsWide(const TokenShard &shard) {
  constexpr int64_t kFewest = 32, kMost = 1 << 16;
  if (shard.width != 2 || shard.count() < kFewest)
    return false;
  bool anyBefore = false;
  for (int64_t i = 0; i < std::min(shard.count(), kMost); ++i) {
    uint16_t token;
    std::memcpy(&token, shard.tokens.data() + i * 2, sizeof(token));
    if (i % 2 == 1 && token != 0)
      return false;
    anyBefore |= token != 0;
  }
  return anyBefore;
}

Result<std::vector<TokenShard>> openTokenFiles(const std::string &path,
                                               int bits) {
  std::vector<TokenShard> shards;
  for (const std::string &each : listPaths(path)) {
    ZC_ASSIGN_OR_RETURN(const std::vector<std::string> names, expandPath(each));
    for (const std::string &name : names)
      ZC_RETURN_IF_ERROR(addShard(name, bits, shards));
  }
  return shards;
}

} // namespace zc
