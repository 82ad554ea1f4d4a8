// How ranks tell each other from strangers: both ends of a connection prove
// that they know the same ZC_TOKEN, which is never sent. Private to this
// folder.
#ifndef ZC_RUNTIME_COMM_TCP_TOKEN_H
#define ZC_RUNTIME_COMM_TCP_TOKEN_H

#include "runtime/Base/Crypto.h"

#include <optional>
#include <string>

namespace zc::tcp {

/// A rank's first message on each line.
struct Hello {
  static constexpr uint32_t kMagic = 0x325a4354; // tells zc's ranks from others
  uint32_t magic = kMagic;
  int32_t rank = 0, size = 0;
  int32_t line = 0; // 0: messages, 1: notes
  int32_t port = 0; // where it listens
  int32_t hasToken = 0;
  Hash256 number = {}; // drawn for this connection
};

/// The other end's answer; without a token only rank 0 sends one.
struct Answer {
  enum Kind : int32_t { Refused, Taken, Challenge };
  uint32_t magic = Hello::kMagic;
  int32_t kind = Refused;
  int32_t hasToken = 0;
  Hash256 number = {}, proof = {}; // of a challenge
};

/// None where it is empty: everybody is believed.
class Token {
public:
  /// Fails where this build cannot prove anything.
  static Result<Token> create(const std::string &text);

  bool isThere() const { return crypto.has_value(); }

  /// A number that nobody has seen before.
  Hash256 draw() const { return crypto ? crypto->random() : Hash256{}; }
  /// The proof that the listener, or the caller, sends for the connection that
  /// `hello` began and that the listener answered with `number`.
  Hash256 prove(bool isListener, const Hello &hello,
                const Hash256 &number) const;
  bool believes(bool isListener, const Hello &hello, const Hash256 &number,
                const Hash256 &proof) const {
    return areEqual(prove(isListener, hello, number), proof);
  }

private:
  std::optional<Crypto> crypto;
  std::string text;
};

} // namespace zc::tcp

#endif // ZC_RUNTIME_COMM_TCP_TOKEN_H
