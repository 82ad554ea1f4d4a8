#include "runtime/Comm/Tcp/Token.h"

namespace zc::tcp {

Result<Token> Token::create(const std::string &text) {
  Token token;
  if (text.empty())
    return token;
  Result<Crypto> opened = Crypto::open();
  if (!opened.ok())
    return opened.status().withContext("ZC_TOKEN");
  token.crypto = *opened;
  token.text = text;
  return token;
}

static void append(std::string &data, const void *bytes, size_t count) {
  data.append(static_cast<const char *>(bytes), count);
}

/// Both numbers are a part, so that no proof serves twice, and who is who, so
/// that none serves the other end.
Hash256 Token::prove(bool isListener, const Hello &hello,
                     const Hash256 &number) const {
  std::string data = isListener ? "zc-listener" : "zc-caller";
  for (int32_t each : {hello.rank, hello.size, hello.line, hello.port})
    append(data, &each, sizeof(each));
  append(data, hello.number.data(), hello.number.size());
  append(data, number.data(), number.size());
  return crypto->authenticate(data, text);
}

} // namespace zc::tcp
