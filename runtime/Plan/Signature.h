// Proves who made an artifact: a signature over all that it holds, in an entry
// of its own.
#ifndef ZC_RUNTIME_PLAN_SIGNATURE_H
#define ZC_RUNTIME_PLAN_SIGNATURE_H

#include "runtime/Base/Crypto.h"
#include "runtime/Plan/ZipReader.h"

namespace zc {

constexpr const char *kSignatureEntry = "signature.txt";

/// Writes the artifact with a signature, in place of one that it has, to
/// `target`, which may be the artifact itself.
Status signArtifact(const Crypto &crypto, const std::string &path,
                    const Seed &seed, const std::string &target);

/// Checks the text of what a user trusts: "sha256:" and 64 digits, the hash of
/// a whole file, or a file with a public key. Returns the fault, or "".
std::string checkTrusted(const std::string &text);

/// Fails unless the artifact has the hash of one of `trusted`, or a sound
/// signature of one of its keys. Looks at the bytes of the open file.
Status checkTrust(const ZipReader &zip,
                  const std::vector<std::string> &trusted);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_SIGNATURE_H
