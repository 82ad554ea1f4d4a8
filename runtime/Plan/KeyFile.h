// Ed25519 keys in files, as OpenSSL writes them (PEM, RFC 8410).
#ifndef ZC_RUNTIME_PLAN_KEYFILE_H
#define ZC_RUNTIME_PLAN_KEYFILE_H

#include "runtime/Base/Crypto.h"

namespace zc {

/// "-----BEGIN PRIVATE KEY-----", as `openssl genpkey -algorithm ed25519` has
/// it. Fails where others than its owner may read the file.
Result<Seed> readPrivateKey(const std::string &path);
/// "-----BEGIN PUBLIC KEY-----", as `openssl pkey -pubout` has it.
Result<PublicKey> readPublicKey(const std::string &path);

/// Draws a pair; the private key goes to `path`, which must not exist, and
/// which its owner alone may read, the public one to `path`.pub.
Status writeNewKeys(const Crypto &crypto, const std::string &path);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_KEYFILE_H
