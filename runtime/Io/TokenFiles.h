// Tokens in .bin files: nanoGPT's, which are 16-bit numbers and nothing else,
// and llm.c's, which begin with a header of 256 32-bit numbers.
#ifndef ZC_RUNTIME_IO_TOKENFILES_H
#define ZC_RUNTIME_IO_TOKENFILES_H

#include "runtime/Base/File.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// One file; samples never cross its end.
struct TokenShard {
  std::shared_ptr<MappedFile> file;
  std::string_view tokens;
  int width = 2;          // bytes of a token
  bool isAssumed = false; // that is so only because nobody has said otherwise

  int64_t count() const { return int64_t(tokens.size()) / width; }
};

/// Whether the path names tokens: it ends in ".bin".
bool isTokenPath(const std::string &path);

/// Opens the files that `path`, which may hold *, ? and [], matches, in the
/// order of their names. All have tokens of one width. A file without a header
/// has tokens of `bits`, 16 or 32; 0: of 16 bits, as nanoGPT writes them.
Result<std::vector<TokenShard>> openTokenFiles(const std::string &path,
                                               int bits = 0);

/// Whether the tokens of 16 bits are rather halves of 32: every second one that
/// was looked at is 0.
bool looksTwiceAsWide(const TokenShard &shard);

} // namespace zc

#endif // ZC_RUNTIME_IO_TOKENFILES_H
